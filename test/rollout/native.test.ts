import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lastKnownGood } from '../../src/rollout/world.ts';
import { NativeModel } from './native-model.ts';

type Event =
  | { kind: 'commit' | 'unready' | 'failing' | 'heal'; digest: string }
  | { kind: 'tick'; ms: number; work: number; crashAfter: number };

const digest = fc.constantFrom('a', 'b', 'c');
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant('commit' as const), digest }),
  fc.record({ kind: fc.constantFrom('unready' as const, 'failing' as const, 'heal' as const), digest }),
  fc.record({
    kind: fc.constant('tick' as const),
    ms: fc.constantFrom(1000, 11_000, 61_000),
    work: fc.nat(4),
    crashAfter: fc.constantFrom(Number.POSITIVE_INFINITY, 0, 1, 2),
  }),
);

function happen(model: NativeModel, event: Event): void {
  if (event.kind === 'tick') return model.tick(event.ms, event.work, event.crashAfter);
  if (event.kind === 'commit') return model.commit(event.digest);
  if (event.kind === 'heal') {
    model.unready.delete(event.digest);
    model.failing.delete(event.digest);
  } else if (event.digest !== 'a') model[event.kind].add(event.digest);
}

function proven(replicas: number, analysis: object = {}): NativeModel {
  const model = new NativeModel(replicas, analysis);
  model.commit('a');
  model.until('Initialized');
  return model;
}

describe('one workload that is rolled out in place', () => {
  it('is promoted by steps, each reached before the next', () => {
    const model = proven(5);
    model.commit('b');
    model.until('Succeeded');
    expect(model.broken).toEqual([]);
    expect(model.mostTried.get('b')).toBe(3);
    expect([model.web?.digest, model.web?.promoted, model.web?.hold]).toEqual(['b', undefined, undefined]);
    expect(model.sets.get('b')?.ready).toBe(5);
    expect(lastKnownGood(model.world())?.digest).toBe('b');
  });

  it('goes back in place at the step where a check fails, and stays there', () => {
    const model = proven(5);
    model.failing.add('b');
    model.commit('b');
    model.until('Failed');
    expect(model.broken).toEqual([]);
    expect(model.mostTried.get('b')).toBe(1);
    expect([model.web?.digest, model.sets.get('a')?.ready, model.sets.get('b')?.spec]).toEqual(['a', 5, 0]);
    expect(model.status.canaryWeight).toBe(0);
    for (let count = 0; count < 20; count += 1) model.tick(10_000, 2);
    expect(model.web?.digest).toBe('a');
  });

  it('goes back when new pods do not become ready, of which there was one step', () => {
    const model = proven(10);
    model.unready.add('b');
    model.commit('b');
    model.until('Failed');
    expect(model.broken).toEqual([]);
    expect([model.mostTried.get('b'), model.sets.get('a')?.ready]).toEqual([1, 10]);
  });

  it('goes back in place when it fails after promotion', () => {
    const model = proven(4);
    model.commit('b');
    while (model.status.phase !== 'Finalising') model.tick(5000, 3);
    model.failing.add('b');
    model.until('Failed');
    expect(model.broken).toEqual([]);
    expect([model.web?.digest, model.sets.get('a')?.ready]).toEqual(['a', 4]);
  });

  it('that is held says nothing of a canary, which it does not have', () => {
    const model = proven(4);
    Object.assign(model.canary.spec.postPromotion ?? {}, { onFailure: 'hold' });
    model.commit('b');
    while (model.status.phase !== 'Finalising') model.tick(5000, 3);
    model.failing.add('b');
    while (model.status.postPromotion?.state !== 'Held') model.tick(5000, 3);
    expect(model.status.message).toMatch(/^sha-b "release b" is held: rate/);
  });

  describe('whose last-known-good does not become ready when it goes back', () => {
    const ask = (verb: string, value: string) => {
      const model = proven(4);
      for (const digest of ['z', 'y']) {
        model.commit(digest);
        until(model, () => model.status.lastPromotedSpec === digest && model.status.run === undefined);
      }
      model.commit('b');
      until(model, () => model.status.phase === 'Finalising');
      model.failing.add('b');
      model.unready.add('y');
      until(model, () => model.status.postPromotion?.reason === 'LKGNotReady');
      model.canary.metadata.annotations = { [`holdfast.dev/${verb}`]: value };
      return model;
    };
    const until = (model: NativeModel, holds: () => boolean) => {
      for (let count = 0; count < 300 && !holds(); count += 1) model.tick(5000, 3);
      expect(holds(), model.status.message).toBe(true);
    };

    it('is rolled back to an older release in place', () => {
      const model = ask('rollback-to', 'z@1');
      until(model, () => model.status.lastKnownGood?.digest === 'z' && model.status.run === undefined);
      expect(model.sets.get('z')?.ready).toBe(4);
      expect(model.broken).toEqual([]);
    });

    it('is not tried again over its own pods, and it is told what helps', () => {
      const model = ask('retry', 'b@1');
      until(model, () => model.status.answers?.retry !== undefined);
      expect(model.status.answers?.retry).toMatchObject({ result: 'Refused', reason: 'NotApplicable' });
      expect(model.status.answers?.retry?.message).toContain('roll back to another release');
      model.unready.delete('y');
      until(model, () => model.status.run === undefined);
      expect([model.web?.digest, model.sets.get('y')?.ready]).toEqual(['y', 4]);
      expect(model.broken).toEqual([]);
    });
  });

  it('goes back before the Canary goes', () => {
    const model = proven(5);
    model.commit('b');
    while (model.triedPods() === 0) model.tick(1000, 1);
    model.canary.metadata.deletionTimestamp = new Date(model.nowMs).toISOString();
    for (let count = 0; count < 50 && !model.gone; count += 1) model.tick(1000, 2);
    expect([model.gone, model.web?.digest, model.web?.hold]).toEqual([true, 'a', undefined]);
    expect(model.sets.get('b')?.spec).toBe(0);
  });

  it('holds every rule after every write and every move of its controller, whatever happens', () => {
    const runs = Number(process.env.HOLDFAST_PROPERTY_RUNS ?? 40);
    const property = fc.property(
      fc.integer({ min: 2, max: 12 }),
      fc.constantFrom({}, { stepWeights: [1, 50, 100] }, { stepWeight: 100, maxWeight: 100 }),
      fc.array(event, { maxLength: 40 }),
      (replicas, analysis, events) => {
        const model = proven(replicas, analysis);
        for (const happens of events) {
          happen(model, happens);
          expect(model.broken).toEqual([]);
          expect(model.ready()).toBeGreaterThan(0);
        }
        model.unready.clear();
        model.failing.clear();
        for (let count = 0; count < 200 && model.status.run !== undefined; count += 1) model.tick(5000, 3);
        expect(model.broken).toEqual([]);
        expect(model.status.run).toBeUndefined();
      },
    );
    fc.assert(property, { numRuns: runs });
  });
});
