import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HookAnswer, HookType } from '../../src/api/hooks.ts';
import { canaryVerbs } from '../../src/api/verbs.ts';
import { type Behaviour, GOOD, Model } from './model.ts';

/** Something that happens to the world between two reconciles. */
type Event =
  | { kind: 'commit'; digest: string; behaviour: Behaviour; settings: string }
  | { kind: 'heal'; digest: string }
  | { kind: 'break'; digest: string; behaviour: Behaviour }
  | { kind: 'provider'; down: boolean }
  | { kind: 'hook'; type: HookType; answer: HookAnswer['verdict'] | 'hang' }
  | { kind: 'unknown' }
  | { kind: 'verb'; verb: string; digest: string; token: number }
  | { kind: 'pause'; value: string }
  | { kind: 'damage'; digest: string; inGit: boolean }
  | { kind: 'restore' }
  | { kind: 'applyAgain' }
  | { kind: 'lose'; what: 'primary' | 'target' | 'route' }
  | { kind: 'loseService'; of: 'apex' | 'primary' | 'canary' }
  | { kind: 'edit'; weight: number }
  | { kind: 'suspend'; value: boolean }
  /** Somebody deletes the primary's copy of its config, or a crash leaves that of another release. */
  | { kind: 'copy'; of: string | undefined }
  /** The window closes for so long; undefined: the Source has none any more. */
  | { kind: 'window'; closedMs: number | undefined }
  | { kind: 'tick'; ms: number }
  | { kind: 'crash'; after: number };

/** Most releases get as far as the primary: what happens from there on is what the rules are about. */
const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(GOOD) },
  {
    weight: 3,
    arbitrary: fc.record({
      canaryReady: fc.constant(true),
      primaryReady: fc.boolean(),
      canaryMetric: fc.constant(100),
      primaryMetric: fc.constantFrom(100, 50, undefined),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      canaryReady: fc.boolean(),
      primaryReady: fc.boolean(),
      canaryMetric: fc.constantFrom(100, 50, undefined),
      primaryMetric: fc.constantFrom(100, 50, undefined),
    }),
  },
);
const digest = fc.constantFrom('a', 'b', 'c');
const hookTypes: readonly HookType[] = [
  'confirm-rollout',
  'pre-rollout',
  'rollout',
  'confirm-traffic-increase',
  'confirm-promotion',
  'post-rollout',
  'rollback',
  'post-promotion',
];
const webhooks = hookTypes
  .filter((type) => type !== 'post-promotion')
  .map((type) => ({ name: type, type, url: 'http://hooks.test/' }));

const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      digest,
      behaviour,
      settings: fc.constantFrom('s1', 's2'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('heal' as const), digest }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('break' as const),
      digest: fc.constantFrom('b', 'c'),
      behaviour,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('provider' as const), down: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('hook' as const),
      type: fc.constantFrom<HookType>(...hookTypes),
      answer: fc.constantFrom(
        'approved' as const,
        'refused' as const,
        'unreachable' as const,
        'hang' as const,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unknown' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('verb' as const),
      verb: fc.constantFrom(...canaryVerbs, 'no-such-verb'),
      digest,
      token: fc.nat(5),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('pause' as const), value: fc.constantFrom('true', '') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('damage' as const), digest, inGit: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restore' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('applyAgain' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('lose' as const),
      what: fc.constantFrom('primary' as const, 'target' as const, 'route' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('loseService' as const),
      of: fc.constantFrom('apex' as const, 'primary' as const, 'canary' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('edit' as const), weight: fc.constantFrom(0, 30, 100) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('suspend' as const), value: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('copy' as const), of: fc.constantFrom('a', 'b', undefined) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('window' as const),
      closedMs: fc.constantFrom(0, 20_000, 90_000, undefined),
    }),
  },
  {
    weight: 24,
    arbitrary: fc.record({
      kind: fc.constant('tick' as const),
      ms: fc.constantFrom(1000, 5000, 11_000, 12_000, 30_000, 61_000),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('crash' as const), after: fc.nat(4) }) },
);

const commitOfB = fc.record({
  ...{ kind: fc.constant('commit' as const), digest: fc.constant('b') },
  ...{ behaviour, settings: fc.constant('s1') },
});
/** A release, and what happens from then on. */
const history: fc.Arbitrary<Event[]> = fc
  .tuple(commitOfB, fc.array(event, { minLength: 1, maxLength: 40, size: 'max' }))
  .map(([first, later]) => [first, ...later]);

const specs = [
  {},
  {
    analysis: { interval: '10s', threshold: 2, stepWeight: 50, maxWeight: 50, webhooks },
    postPromotion: { webhooks: [{ name: 'smoke', url: 'http://hooks.test/' }] },
  },
  {
    analysis: { interval: '10s', threshold: 1, iterations: 1, webhooks },
    postPromotion: { onFailure: 'hold' },
  },
  { skipAnalysis: true, analysis: { interval: '10s', threshold: 1, stepWeight: 50, webhooks } },
  { analysis: { interval: '10s', threshold: 1, stepWeights: [5, 30, 60] } },
  { analysis: { interval: '10s', threshold: 1, iterations: 2 } },
  { analysis: { interval: '10s', threshold: 1, iterations: 2, match: [{ headers: { x: { exact: 'y' } } }] } },
  { provider: 'kubernetes', analysis: { interval: '10s', threshold: 1, iterations: 2 } },
  { skipAnalysis: true },
  { postPromotion: { successThreshold: 3, onFailure: 'hold' } },
  { postPromotion: { successThreshold: 0, onFailure: 'revert' } },
  {
    analysis: { interval: '10s', threshold: 1, stepWeight: 40, stepWeightPromotion: 30 },
    postPromotion: { onFailure: 'halt' },
  },
];

function play(model: Model, events: readonly Event[]): void {
  for (const entry of events) apply(model, entry);
}

function apply(model: Model, entry: Event): void {
  switch (entry.kind) {
    case 'commit':
      model.behaviours.set(entry.digest, model.behaviours.get(entry.digest) ?? entry.behaviour);
      return model.commit(entry.digest, model.behaviours.get(entry.digest), entry.settings);
    case 'heal':
      model.behaviours.set(entry.digest, GOOD);
      return;
    case 'break':
      model.behaviours.set(entry.digest, entry.behaviour);
      return;
    case 'provider':
      model.providerDown = entry.down;
      return;
    case 'hook':
      model.hooks[entry.type] = entry.answer;
      return;
    case 'unknown':
      model.head = { kind: 'unknown', reason: 'RenderFailed', message: 'apps/x.yaml:3 is broken' };
      return;
    case 'verb':
      return model.ask(entry.verb, `${entry.digest}@${entry.token}`);
    case 'pause':
      return model.ask('pause', entry.value);
    case 'damage':
      model.damaged.add(entry.digest);
      if (entry.inGit) model.inGit.add(entry.digest);
      else model.inGit.delete(entry.digest);
      return;
    case 'restore':
      return model.damaged.clear();
    case 'lose':
      model[entry.what] = undefined;
      return;
    case 'loseService':
      model.services[entry.of] = false;
      return;
    case 'edit':
      return routed(model, entry.weight);
    case 'suspend':
      model.canary.spec.suspend = entry.value;
      return;
    case 'copy':
      model.copy = entry.of;
      return;
    case 'applyAgain':
      return model.applyAgain();
    case 'window':
      if (entry.closedMs === undefined) model.window = undefined;
      else model.closeWindow(entry.closedMs);
      return;
    case 'tick':
      return model.tick(entry.ms);
    case 'crash':
      return model.tick(1000, entry.after);
  }
}

/** Somebody else changes the weights. */
function routed(model: Model, canaryWeight: number): void {
  if (model.route) model.route = { ...model.route, primaryWeight: 100 - canaryWeight, canaryWeight };
}

/**
 * How the pods of a workload are replaced and counted: a DaemonSet is cleared first, as Recreate is, and a scaler has its own mind. Foreign:
 * as RollingUpdate, with a target that another tool applies.
 */
const updates = [
  'RollingUpdate',
  'Recreate',
  'DaemonSet',
  'scaled by HPA',
  'scaled by KEDA',
  'Foreign',
] as const;
type Update = (typeof updates)[number];

function start(specIndex: number, update: Update): Model {
  const model = new Model(specs[specIndex] as never);
  model.foreign = update === 'Foreign';
  model.commit('a');
  model.until('Initialized');
  model.outages.length = 0;
  model.recreate = update === 'Recreate';
  model.followsNodes = update === 'DaemonSet';
  if (update === 'scaled by HPA') model.scale('HorizontalPodAutoscaler', 4);
  if (update === 'scaled by KEDA') model.scale('ScaledObject', 4);
  return model;
}

function expectScalersAtRest({ scalers }: Model): void {
  if (!scalers) return;
  expect(scalers.left('primary')).toEqual([]);
  expect(scalers.left('canary').filter((what) => what !== 'paused')).toEqual([]);
}

function expectScalersGivenBack({ scalers, primary }: Model): void {
  if (!scalers) return;
  expect(scalers.left('canary')).toEqual([]);
  if (primary) expect(scalers.left('primary')).toEqual([]);
}

const worlds = fc.record({
  spec: fc.nat(specs.length - 1),
  update: fc.constantFrom(...updates),
  events: history,
});
const numRuns = Number(process.env.HOLDFAST_PROPERTY_RUNS ?? 120);

/** What once kept a scaled world from coming to rest: played first, under every spec, with and without a fix. */
const found = specs.flatMap((_, spec) =>
  [true, false].map((fixed): [{ spec: number; update: Update; events: Event[] }, boolean] => {
    const events: Event[] = [{ kind: 'edit', weight: 100 }, { kind: 'unknown' }, { kind: 'crash', after: 0 }];
    return [{ spec, update: 'scaled by KEDA', events }, fixed];
  }),
);
// A Service that went while nobody could tell what the target runs.
found.push([
  {
    spec: 0,
    update: 'Foreign',
    events: [{ kind: 'loseService', of: 'canary' }, { kind: 'unknown' }, { kind: 'crash', after: 0 }],
  },
  false,
]);

/** Found by chance, and played first. */
const foundInDeletions: Array<[{ spec: number; update: Update; events: Event[] }, Event[]]> = [
  // A scaler that was raised by the very step that let the Canary go.
  [
    {
      spec: 0,
      update: 'scaled by KEDA',
      events: [
        { kind: 'crash', after: 3 },
        { kind: 'verb', verb: 'abort', digest: 'a', token: 0 },
      ],
    },
    [
      { kind: 'crash', after: 2 },
      { kind: 'edit', weight: 30 },
      { kind: 'tick', ms: 61_000 },
      { kind: 'tick', ms: 30_000 },
    ],
  ],
  // A window that closed between the admission and the answer of confirm-rollout.
  [
    {
      spec: 1,
      update: 'RollingUpdate',
      events: [
        {
          kind: 'commit',
          digest: 'c',
          behaviour: { ...GOOD, canaryReady: false, primaryReady: false },
          settings: 's1',
        },
        { kind: 'crash', after: 3 },
        { kind: 'window', closedMs: 20_000 },
        { kind: 'tick', ms: 1000 },
      ],
    },
    [],
  ],
];

// The time limit only ends a hang; it grows with the number of worlds.
describe('in any world, with a crash at any write', { timeout: 60_000 + numRuns * 100 }, () => {
  it('no action breaks a safety rule (S1-S16)', () => {
    fc.assert(
      fc.property(worlds, ({ spec, update, events }) => {
        const model = start(spec, update);
        play(model, events);
        expect(model.broken).toEqual([]);
      }),
      { numRuns },
    );
  });

  it('never loses the last-known-good, and never reverts one digest twice (S11, S13)', () => {
    fc.assert(
      fc.property(worlds, ({ spec, update, events }) => {
        const model = start(spec, update);
        for (const entry of events) {
          apply(model, entry);
          expect(model.records.some((record) => record.promotedTime !== undefined)).toBe(true);
        }
        const digests = model.rejected.map((entry) => entry.digest);
        expect(new Set(digests).size).toBe(digests.length);
      }),
      { numRuns },
    );
  });

  it('status names weights, commits and digests only as read back (S27, S28)', () => {
    fc.assert(
      fc.property(worlds, ({ spec, update, events }) => {
        const model = start(spec, update);
        for (const entry of events) {
          apply(model, entry);
          const { status } = model;
          if (status.conditions?.find((condition) => condition.type === 'Ready')?.status !== 'True') continue;
          if (entry.kind !== 'tick') continue;
          expect(model.primary?.digest).toBe(status.lastKnownGood?.digest);
          expect(status.canaryWeight).toBe(0);
          expect(model.route?.canaryWeight).toBe(0);
        }
      }),
      { numRuns },
    );
  });

  it('a failed digest is rejected and never started again, whenever it crashes (S13, S14)', () => {
    const bad: Behaviour[] = [
      { ...GOOD, canaryMetric: 50 },
      { ...GOOD, canaryReady: false },
      { ...GOOD, primaryReady: false },
      { ...GOOD, primaryMetric: 50 },
    ];
    const crashes = fc.array(fc.constantFrom(0, 1, 2, 3, 99, 99, 99), { minLength: 60, maxLength: 60 });
    fc.assert(
      fc.property(fc.constantFrom(...bad), fc.constantFrom(...updates), crashes, (how, update, afters) => {
        const model = start(0, update);
        model.commit('b', how);
        for (const after of afters) model.tick(3000, after);
        for (let count = 0; count < 100; count += 1) model.tick(5000);
        expect(model.status.phase).toBe('Failed');
        expect(model.rejected.map((entry) => entry.digest)).toEqual(['b']);
        expect(model.status.history?.filter((entry) => entry.digest === 'b').length).toBeLessThanOrEqual(1);
        expect(model.primary?.digest).toBe('a');
        expect(model.broken).toEqual([]);
      }),
      { numRuns: Math.ceil(numRuns / 4) },
    );
  });

  it('a deletion ends in time and takes with it nothing that serves (S2, L10)', () => {
    fc.assert(
      fc.property(worlds, fc.array(event, { maxLength: 10 }), ({ spec, update, events }, meanwhile) => {
        const model = start(spec, update);
        model.canary.spec.revertOnDeletion = true;
        play(model, events);
        model.delete();
        play(model, meanwhile);
        for (let count = 0; count < 12 && !model.gone; count += 1) model.tick(10_000);
        expect(model.gone).toBe(true);
        expectScalersGivenBack(model);
        expect(model.broken).toEqual([]);
      }),
      { numRuns, examples: foundInDeletions },
    );
  });

  it('once faults end, it comes to rest and writes no more (L1, L2)', () => {
    fc.assert(
      fc.property(worlds, fc.boolean(), ({ spec, update, events }, fixed) => {
        const model = start(spec, update);
        play(model, events);
        model.providerDown = false;
        model.canary.metadata.annotations = {};
        model.damaged.clear();
        model.hooks = {};
        model.canary.spec.suspend = false;
        for (const name of ['a', 'b', 'c', 'd']) model.behaviours.set(name, GOOD);
        if (fixed) model.commit('d');
        for (let count = 0; count < 300; count += 1) model.tick(5000);
        const { writes } = model;
        for (let count = 0; count < 20; count += 1) model.tick(30_000);
        expect(model.writes).toBe(writes);
        expect(model.copy).toBe(model.primary?.digest);
        expect(model.services).toEqual({ apex: true, primary: true, canary: true });
        expectScalersAtRest(model);
        expect(model.broken).toEqual([]);
        if (fixed) expect([model.status.phase, model.primary?.digest]).toEqual(['Succeeded', 'd']);
      }),
      { numRuns: Math.ceil(numRuns / 8) + found.length, examples: found },
    );
  });
});
