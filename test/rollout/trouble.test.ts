/** Random worlds in which pods break one by one, writes are refused, the gateway is late, leaders' clocks differ, and people lend a hand. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Action } from '../../src/rollout/outcome.ts';
import { GOOD, type Model } from './model.ts';
import type { Side } from './pods-model.ts';
import { apply, commitOfB, type Event, event, specs, start, type Update, updates } from './random-worlds.ts';

type Trouble =
  | { kind: 'breakPods'; side: Side; count: number; fault: string | undefined; any: boolean }
  | { kind: 'healPods' }
  | { kind: 'die'; digest: string }
  | { kind: 'refuse'; type: Action['type'] }
  | { kind: 'allow' }
  | { kind: 'rejectionsUnreadable'; value: boolean }
  | { kind: 'gateway'; delayMs: number }
  | { kind: 'gatewayStops'; forMs: number }
  | { kind: 'leader'; clockOffsetMs: number }
  | { kind: 'scaleByHand'; side: Side; pods: number }
  | { kind: 'edit primary' }
  | { kind: 'rotate'; live: string };

const side = fc.constantFrom<Side>('primary', 'canary');
const kindOf = <Kind extends Trouble['kind']>(kind: Kind) => ({ kind: fc.constant(kind) });

const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      ...kindOf('breakPods'),
      side,
      count: fc.constantFrom(1, 1, 2),
      fault: fc.constantFrom('ErrImagePull', 'ProbeFailing', 'CrashLoopBackOff', undefined),
      any: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record(kindOf('healPods')) },
  { weight: 1, arbitrary: fc.record({ ...kindOf('die'), digest: fc.constantFrom('a', 'b', 'c') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...kindOf('refuse'),
      type: fc.constantFrom<Action['type']>(
        'Reject',
        'SaveRecord',
        'MarkProven',
        'EnsureServices',
        'SetTraffic',
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record(kindOf('allow')) },
  { weight: 1, arbitrary: fc.record({ ...kindOf('rejectionsUnreadable'), value: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ ...kindOf('gateway'), delayMs: fc.constantFrom(0, 0, 1500, 10_000) }) },
  { weight: 1, arbitrary: fc.record({ ...kindOf('gatewayStops'), forMs: fc.constantFrom(5000, 25_000) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...kindOf('leader'),
      clockOffsetMs: fc.constantFrom(0, 5000, 3_600_000, -3_600_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...kindOf('scaleByHand'), side, pods: fc.constantFrom(0, 1, 5) }) },
  { weight: 1, arbitrary: fc.record(kindOf('edit primary')) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...kindOf('rotate'),
      live: fc.constantFrom('0123456789abcdef', 'fedcba9876543210'),
    }),
  },
);

function befall(model: Model, entry: Trouble | Event): void {
  switch (entry.kind) {
    case 'breakPods':
      return model.breakPods(entry.side, entry.count, {
        ...(entry.fault === undefined ? {} : { fault: entry.fault }),
        ...(entry.any ? { of: 'any' } : {}),
      });
    case 'healPods':
      return model.healPods();
    case 'die':
      return model.die(entry.digest);
    case 'refuse':
      return void model.refused.add(entry.type);
    case 'allow':
      return model.refused.clear();
    case 'rejectionsUnreadable':
      model.rejectionsProblem = entry.value ? 'Secret podinfo-rejections: forbidden' : undefined;
      return;
    case 'gateway':
      model.gatewayDelayMs = entry.delayMs;
      return;
    case 'gatewayStops':
      return model.stopGateway(entry.forMs);
    case 'leader':
      return model.leadAnew(entry.clockOffsetMs);
    case 'scaleByHand':
      return model.followsNodes ? undefined : model.scaleByHand(entry.side, entry.pods);
    case 'edit primary':
      return model.editPrimary();
    case 'rotate':
      return model.foreign ? undefined : model.rotate(entry.live);
    default:
      return apply(model, entry);
  }
}

/** Trouble that people or the cluster end. */
function endTrouble(model: Model): void {
  model.healPods();
  model.refused.clear();
  model.rejectionsProblem = undefined;
  model.gatewayDelayMs = 0;
  model.stopGateway(0);
  model.providerDown = false;
  model.crowdedBy = undefined;
  model.canary.metadata.annotations = {};
  model.damaged.clear();
  model.hooks = {};
  model.canary.spec.suspend = false;
  // What failed before goes on failing: the fix has to get through without it.
  model.behaviours.set('d', GOOD);
}

interface Played {
  spec: number;
  update: Update;
  half: boolean;
  targetToo: boolean;
  events: Array<Trouble | Event>;
}

const worlds: fc.Arbitrary<Played> = fc.record({
  spec: fc.nat(specs.length - 1),
  update: fc.constantFrom(...updates),
  half: fc.boolean(),
  targetToo: fc.boolean(),
  events: fc
    .tuple(
      commitOfB,
      fc.array(
        fc.oneof(
          { weight: 3, arbitrary: trouble as fc.Arbitrary<Trouble | Event> },
          { weight: 7, arbitrary: event },
        ),
        { minLength: 1, maxLength: 40, size: 'max' },
      ),
    )
    .map(([first, later]) => [first as Trouble | Event, ...later]),
});

/** Thresholds of 50 % on both sides. */
function halved(spec: object): object {
  const { analysis } = spec as { analysis?: object };
  const base = { interval: '10s', threshold: 2, stepWeight: 50, maxWeight: 50 };
  return {
    ...spec,
    analysis: { ...(analysis ?? base), primaryReadyThreshold: 50, canaryReadyThreshold: 50 },
  };
}

function begin({ spec, update, half, targetToo }: Played): Model {
  const model = start(spec, update, half ? halved : undefined);
  model.recreateTarget = targetToo && update === 'Recreate';
  return model;
}

/** Traffic is left with a side that cannot answer, and the other one could. */
function isAvoidable({ served, primary, target }: Model): boolean {
  if (!served) return false;
  const isReady = (pods: typeof primary) => (pods ? pods.ready + pods.oldReady : 0) > 0;
  const sides = [
    { share: served.primaryWeight > 0 || served.matched, isUp: isReady(primary) },
    { share: served.canaryWeight > 0, isUp: isReady(target) },
  ];
  return sides.some(({ share, isUp }) => share && !isUp) && sides.some(({ isUp }) => isUp);
}

/** Found by chance, and played first. */
const found: Array<[Played]> = [
  // A primary that somebody deleted while its scaler wanted more pods than one.
  [
    {
      ...{ spec: 7, update: 'scaled by KEDA', half: false, targetToo: false },
      events: [
        { kind: 'commit', digest: 'b', behaviour: { ...GOOD, primaryReady: false }, settings: 's1' },
        { kind: 'tick', ms: 1000 },
        { kind: 'lose', what: 'primary' },
        { kind: 'tick', ms: 1000 },
        { kind: 'crash', after: 0 },
        { kind: 'tick', ms: 61_000 },
      ],
    },
  ],
  // An A/B test starts over while the primary has one of two pods.
  [
    {
      spec: 0,
      update: 'RollingUpdate',
      half: false,
      targetToo: false,
      events: [
        { kind: 'commit', digest: 'b', behaviour: { ...GOOD, primaryReady: false }, settings: 's1' },
        { kind: 'respec', spec: 4 },
        { kind: 'tick', ms: 1000 },
        { kind: 'tick', ms: 1000 },
        { kind: 'tick', ms: 61_000 },
        { kind: 'breakPods', side: 'primary', count: 1, fault: 'ErrImagePull', any: false },
        { kind: 'rotate', live: '0123456789abcdef' },
        { kind: 'tick', ms: 1000 },
      ],
    },
  ],
];

const numRuns = Number(process.env.HOLDFAST_PROPERTY_RUNS ?? 120);

// The time limit only ends a hang; it grows with the number of worlds.
describe('in any trouble, with a crash at any write', { timeout: 900_000 + numRuns * 100 }, () => {
  it('no action breaks a safety rule, and no share rises before its check (S1-S16)', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const model = begin(world);
        for (const entry of world.events) befall(model, entry);
        expect(model.broken).toEqual([]);
      }),
      { numRuns, examples: found },
    );
  });

  it('never loses the last-known-good, and rejects no digest twice (S11, S13)', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const model = begin(world);
        for (const entry of world.events) {
          befall(model, entry);
          expect(model.records.some((record) => record.promotedTime !== undefined)).toBe(true);
        }
        const digests = model.rejected.map(({ digest }) => digest);
        expect(new Set(digests).size).toBe(digests.length);
      }),
      { numRuns: Math.ceil(numRuns / 2) },
    );
  });

  it('nobody is sent for long where nobody answers while somebody else could (S1, S2)', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const model = begin(world);
        for (const entry of world.events) befall(model, entry);
        model.refused.clear();
        model.canary.spec.suspend = false;
        model.gatewayDelayMs = 0;
        model.stopGateway(0);
        for (let count = 0; count < 15; count += 1) model.tick(1000);
        expect(isAvoidable(model)).toBe(false);
      }),
      { numRuns: Math.ceil(numRuns / 2) },
    );
  });

  it('once it ends, a fix gets through, and nothing is written any more (L1, L2)', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const model = begin(world);
        for (const entry of world.events) befall(model, entry);
        endTrouble(model);
        model.commit('d');
        for (let count = 0; count < 300; count += 1) model.tick(5000);
        const { writes } = model;
        for (let count = 0; count < 20; count += 1) model.tick(30_000);
        expect([model.status.phase, model.primary?.digest]).toEqual(['Succeeded', 'd']);
        expect(model.drift).toBeUndefined();
        expect(model.writes).toBe(writes);
        expect(model.broken).toEqual([]);
      }),
      { numRuns: Math.ceil(numRuns / 8) },
    );
  });
});
