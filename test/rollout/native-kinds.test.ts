import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lastKnownGood } from '../../src/rollout/world.ts';
import { DaemonSetModel, type RevisionModel, StatefulSetModel } from './revision-model.ts';

type Event =
  | { kind: 'commit' | 'unready' | 'failing' | 'heal'; digest: string }
  | { kind: 'lost'; place: number }
  | { kind: 'node' }
  | { kind: 'tick'; ms: number; work: number; crashAfter: number };

const digest = fc.constantFrom('a', 'b', 'c');
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant('commit' as const), digest }),
  fc.record({ kind: fc.constantFrom('unready' as const, 'failing' as const, 'heal' as const), digest }),
  fc.record({ kind: fc.constant('lost' as const), place: fc.nat(5) }),
  fc.record({ kind: fc.constant('node' as const) }),
  fc.record({
    kind: fc.constant('tick' as const),
    ms: fc.constantFrom(1000, 11_000, 61_000),
    work: fc.nat(4),
    crashAfter: fc.constantFrom(Number.POSITIVE_INFINITY, 0, 1, 2),
  }),
);

function happen(model: RevisionModel, event: Event): void {
  switch (event.kind) {
    case 'tick':
      return model.tick(event.ms, event.work, event.crashAfter);
    case 'commit':
      return model.commit(event.digest);
    case 'heal':
      model.unready.delete(event.digest);
      model.failing.delete(event.digest);
      return;
    case 'lost':
      // Of a DaemonSet at the very moment in which a step is taken it would come back with the release that is tried.
      if (!(model instanceof DaemonSetModel) || model.stands()) model.end(event.place);
      return;
    case 'node':
      if (model instanceof DaemonSetModel && model.stands()) model.replicas += 1;
      return;
    default:
      if (event.digest !== 'a') model[event.kind].add(event.digest);
  }
}

type Make = (pods: number, analysis?: object) => RevisionModel;
const kinds: ReadonlyArray<readonly [string, Make]> = [
  ['StatefulSet', (pods, analysis) => new StatefulSetModel(pods, analysis)],
  ['DaemonSet', (pods, analysis) => new DaemonSetModel(pods, analysis)],
];

it('a StatefulSet keeps the names of its pods: a step is not judged by what a metric has of the release before', () => {
  const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '40s' }];
  const model = new StatefulSetModel(4, { interval: '5s', metrics });
  model.commit('a');
  model.until('Initialized');
  model.commit('b');
  while (model.status.run?.stepTime === undefined || model.status.canaryWeight === 0) model.tick(1000, 3);
  const beganMs = Date.parse(String(model.status.run.stepTime));
  while (model.status.run?.checkNumber === 0) model.tick(1000, 3);
  expect(model.nowMs - beganMs).toBeGreaterThanOrEqual(40_000);
});

describe.each(kinds)('a %s that is rolled out in place', (_, make) => {
  function proven(pods: number, analysis: object = {}): RevisionModel {
    const model = make(pods, analysis);
    model.commit('a');
    model.until('Initialized');
    return model;
  }
  const imagesOf = (model: RevisionModel) => model.alive().map((pod) => pod.digest);

  it('is promoted by steps, each reached before the next', () => {
    const model = proven(5);
    const before = model.live?.spec as { updateStrategy: unknown };
    model.commit('b');
    model.until('Succeeded');
    expect(model.broken).toEqual([]);
    expect(model.mostTried.get('b')).toBe(3);
    expect(imagesOf(model)).toEqual(Array(5).fill('b'));
    expect(model.live?.spec).toMatchObject({ updateStrategy: before.updateStrategy });
    expect(lastKnownGood(model.world())?.digest).toBe('b');
  });

  it.each(['failing', 'unready'] as const)('goes back in place at its first step when it is %s', (why) => {
    const model = proven(5);
    model[why].add('b');
    model.commit('b');
    model.until('Failed');
    for (let count = 0; count < 20; count += 1) model.tick(10_000, 3);
    expect(model.broken).toEqual([]);
    expect([model.mostTried.get('b'), model.ready()]).toEqual([1, 5]);
    expect(imagesOf(model)).toEqual(Array(5).fill('a'));
  });

  it('goes back in place when its pods stop being ready after promotion', () => {
    const model = proven(4);
    model.commit('b');
    while (model.status.phase !== 'Finalising') model.tick(5000, 3);
    model.failing.add('b');
    model.unready.add('b');
    model.until('Failed');
    for (let count = 0; count < 40; count += 1) model.tick(10_000, 3);
    expect(model.broken).toEqual([]);
    expect([imagesOf(model), model.ready()]).toEqual([Array(4).fill('a'), 4]);
  });

  it('goes back before the Canary goes', () => {
    const model = proven(5);
    const before = JSON.stringify(model.live?.spec);
    model.commit('b');
    while (model.triedPods() === 0) model.tick(1000, 1);
    model.canary.metadata.deletionTimestamp = new Date(model.nowMs).toISOString();
    for (let count = 0; count < 80 && !model.gone; count += 1) model.tick(1000, 2);
    expect([model.gone, model.triedPods()]).toEqual([true, 0]);
    expect([JSON.stringify(model.live?.spec), imagesOf(model)]).toEqual([before, Array(5).fill('a')]);
  });

  const runs = Number(process.env.HOLDFAST_PROPERTY_RUNS ?? 40);
  it(
    'holds every rule after every write and every move of its controller, whatever happens',
    () => {
      const property = fc.property(
        fc.integer({ min: 2, max: 7 }),
        fc.constantFrom({}, { stepWeights: [1, 50, 100] }, { stepWeight: 100, maxWeight: 100 }),
        fc.array(event, { maxLength: 40 }),
        (pods, analysis, events) => {
          const model = proven(pods, analysis);
          for (const happens of events) {
            happen(model, happens);
            expect(model.broken).toEqual([]);
          }
          model.unready.clear();
          model.failing.clear();
          for (let count = 0; count < 200 && model.status.run !== undefined; count += 1) model.tick(5000, 3);
          expect(model.broken).toEqual([]);
          expect(model.status.run).toBeUndefined();
        },
      );
      fc.assert(property, { numRuns: runs });
    },
    120_000 + runs * 500,
  );
});
