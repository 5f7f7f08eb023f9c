import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { conditionOf } from '../../src/api/kubernetes.ts';
import { type Behaviour, GOOD, type Model } from './model.ts';
import {
  apply,
  type Event,
  event,
  play,
  specs,
  start,
  type Update,
  updates,
  worlds,
} from './random-worlds.ts';

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

const numRuns = Number(process.env.HOLDFAST_PROPERTY_RUNS ?? 120);

const unready = { ...GOOD, primaryReady: false };

type Found = [{ spec: number; update: Update; events: Event[] }, fixed: boolean];
/** What once did not come to rest, or broke a rule: played first. */
const found: Found[] = [
  // A scaled world, under every spec, with and without a fix.
  ...specs.flatMap((_, spec) =>
    [true, false].map((fixed): Found => {
      const events: Event[] = [
        { kind: 'edit', weight: 100 },
        { kind: 'unknown' },
        { kind: 'crash', after: 0 },
      ];
      return [{ spec, update: 'scaled by KEDA', events }, fixed];
    }),
  ),
  // A Service that went while nobody could tell what the target runs.
  [
    {
      spec: 0,
      update: 'Foreign',
      events: [{ kind: 'loseService', of: 'canary' }, { kind: 'unknown' }, { kind: 'crash', after: 0 }],
    },
    false,
  ],
  // The same while a release is tried.
  [
    {
      spec: 0,
      update: 'Foreign',
      events: [
        { kind: 'commit', digest: 'b', behaviour: GOOD, settings: 's1' },
        { kind: 'tick', ms: 1000 },
        { kind: 'unknown' },
        { kind: 'loseService', of: 'canary' },
        { kind: 'tick', ms: 1000 },
      ],
    },
    false,
  ],
  // A deadline that was over between two looks.
  [
    {
      spec: 0,
      update: 'scaled by HPA',
      events: [
        { kind: 'commit', digest: 'b', behaviour: GOOD, settings: 's1' },
        { kind: 'edit', weight: 100 },
        { kind: 'respec', spec: 7 },
        { kind: 'tick', ms: 1000 },
      ],
    },
    true,
  ],
  // A person let the release through, and the request was gone before the primary was up.
  [
    {
      spec: 0,
      update: 'RollingUpdate',
      events: [
        { kind: 'commit', digest: 'b', behaviour: unready, settings: 's1' },
        { kind: 'tick', ms: 1000 },
        { kind: 'edit', weight: 100 },
        { kind: 'tick', ms: 1000 },
        { kind: 'verb', verb: 'skip-step', digest: 'b', token: 0 },
        { kind: 'tick', ms: 61_000 },
        { kind: 'tick', ms: 1000 },
      ],
    },
    false,
  ],
  // skipAnalysis ended between the decision to promote and its first write.
  [
    {
      spec: 3,
      update: 'RollingUpdate',
      events: [
        { kind: 'commit', digest: 'b', behaviour: unready, settings: 's1' },
        { kind: 'tick', ms: 1000 },
        { kind: 'tick', ms: 1000 },
        { kind: 'tick', ms: 1000 },
        { kind: 'crash', after: 1 },
        { kind: 'respec', spec: 6 },
        { kind: 'tick', ms: 1000 },
      ],
    },
    false,
  ],
  // The primary is deleted while a canary whose old pods are ready fails.
  [
    {
      spec: 0,
      update: 'RollingUpdate',
      events: [
        { kind: 'commit', digest: 'b', behaviour: GOOD, settings: 's1' },
        { kind: 'tick', ms: 1000 },
        {
          kind: 'commit',
          digest: 'c',
          behaviour: { ...unready, canaryReady: false },
          settings: 's1',
        },
        { kind: 'tick', ms: 1000 },
        { kind: 'lose', what: 'primary' },
        { kind: 'tick', ms: 61_000 },
        { kind: 'tick', ms: 1000 },
      ],
    },
    false,
  ],
  // What the primary runs is not kept when a newer revision is tried there, and Git still gives it.
  [
    {
      spec: 0,
      update: 'RollingUpdate',
      events: [
        { kind: 'commit', digest: 'b', behaviour: unready, settings: 's1' },
        { kind: 'respec', spec: 9 },
        { kind: 'tick', ms: 1000 },
        { kind: 'tick', ms: 1000 },
        { kind: 'tick', ms: 11_000 },
        { kind: 'tick', ms: 12_000 },
        { kind: 'damage', digest: 'b', inGit: true },
        { kind: 'commit', digest: 'c', behaviour: unready, settings: 's1' },
        { kind: 'tick', ms: 61_000 },
        { kind: 'tick', ms: 11_000 },
      ],
    },
    false,
  ],
];

/** The primary is deleted while it is reverted to a release whose record is lost: the rejected one stays out of it. */
const lostOnTheWayBack: Event[] = [
  { kind: 'commit', digest: 'b', behaviour: { ...GOOD, primaryMetric: 50 }, settings: 's1' },
  ...[1000, 1000, 12_000, 61_000, 12_000, 12_000].map((ms): Event => ({ kind: 'tick', ms })),
  { kind: 'damage', digest: 'a', inGit: false },
  { kind: 'lose', what: 'primary' },
  { kind: 'tick', ms: 1000 },
];

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
  [{ spec: 0, update: 'RollingUpdate', events: lostOnTheWayBack }, []],
];

// The time limit only ends a hang; it grows with the number of worlds.
describe('in any world, with a crash at any write', { timeout: 900_000 + numRuns * 100 }, () => {
  it('no action breaks a safety rule (S1-S16)', () => {
    fc.assert(
      fc.property(worlds, ({ spec, update, events }) => {
        const model = start(spec, update);
        play(model, events);
        expect(model.broken).toEqual([]);
      }),
      { numRuns, examples: [[{ spec: 0, update: 'RollingUpdate', events: lostOnTheWayBack }]] },
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
          if (conditionOf(status, 'Ready')?.status !== 'True') continue;
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
        model.crowdedBy = undefined;
        model.canary.metadata.annotations = {};
        model.damaged.clear();
        model.hooks = {};
        model.canary.spec.suspend = false;
        // One look apart, which a deadline of 5 s does not survive.
        model.canary.spec.progressDeadlineSeconds = 60;
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
