import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CanaryPhase, CanaryStatus } from '../../src/api/canary/status.ts';
import { FLAGGERS_HASH, GOOD, Model } from './model.ts';

interface Left {
  primary?: string;
  target?: string;
  pods?: number;
  weight?: number;
}

function left(status: CanaryStatus, more: Left = {}, spec: object = {}): Model {
  const model = new Model(spec);
  model.leaveByFlagger(status, { primary: 'a', target: 'a', pods: 0, weight: 0, ...more });
  return model;
}

function play(model: Model, ticks = 40): void {
  for (let count = 0; count < ticks; count += 1) model.tick();
}

const settled: readonly CanaryPhase[] = ['Initialized', 'Succeeded'];

describe('what Flagger left', () => {
  it.each(settled)('in phase %s is the last-known-good, and nothing is rolled out', (phase) => {
    const model = left({ phase });
    play(model);
    expect(model.status).toMatchObject({ phase, lastAppliedSpec: 'a', lastKnownGood: { digest: 'a' } });
    expect(model.status.history).toBeUndefined();
    expect(model.status.incidents).toBeUndefined();
    expect(model.written).toEqual([]);
    expect(model.events.map(({ reason }) => reason)).toEqual(['Adopted']);
  });

  it('stays untouched while it is not known what is wanted', () => {
    const model = left({ phase: 'Failed' }, { target: 'b' });
    const { head } = model;
    const before = structuredClone(model.status);
    model.head = { kind: 'unknown', reason: 'SourceNotRead', message: 'not read yet' };
    play(model, 3);
    expect(model.status).toEqual(before);
    model.head = head;
    play(model);
    expect(model.rejected).toMatchObject([{ digest: 'b', reason: 'FailedUnderFlagger' }]);
  });

  it('in phase Failed keeps what failed from being tried again, until a retry', () => {
    const model = left({ phase: 'Failed' }, { target: 'b' });
    play(model);
    expect(model.status).toMatchObject({ phase: 'Failed', lastKnownGood: { digest: 'a' } });
    expect(model.written).toEqual([]);
    model.ask('retry', 'b@1');
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
  });

  it('in phase Failed rolls out what came after the failed revision', () => {
    const model = left({ phase: 'Failed' }, { target: 'b' });
    model.headWasTried = false;
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
    expect(model.rejected).toEqual([]);
  });

  it.each(['Progressing', 'WaitingPromotion'] as const)(
    'in phase %s tries the release from weight 0',
    (phase) => {
      const model = left({ phase, canaryWeight: 40 }, { target: 'b', pods: 2, weight: 40 });
      model.tick(1000);
      expect(model.route?.canaryWeight).toBe(0);
      expect(model.target?.desired).toBe(2);
      model.until('Succeeded');
      expect(model.status.history).toMatchObject([{ digest: 'b', result: 'Succeeded' }]);
      expect(model.outages).toEqual([]);
    },
  );

  it('in phase Waiting asks the gate again', () => {
    const webhooks = [{ name: 'gate', type: 'confirm-rollout' as const, url: 'http://hooks.test/' }];
    const analysis = { interval: '10s', threshold: 2, stepWeight: 50, maxWeight: 50, webhooks };
    const model = left({ phase: 'Waiting' }, { target: 'b' }, { analysis });
    model.hooks['confirm-rollout'] = 'refused';
    play(model, 5);
    expect(model.status.phase).toBe('Waiting');
    model.hooks['confirm-rollout'] = 'approved';
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
  });

  it.each(['Promoting', 'Finalising'] as const)('in phase %s carries the promotion to its end', (phase) => {
    const weight = phase === 'Promoting' ? 50 : 0;
    const model = left({ phase, canaryWeight: weight }, { primary: 'b', target: 'b', pods: 2, weight });
    play(model, 10);
    expect(model.status.lastKnownGood?.digest).toBe('b');
    expect([model.route?.canaryWeight, model.target?.desired]).toEqual([0, 0]);
    expect([model.written, model.outages]).toEqual([[], []]);
  });

  it('after a failed promotion lets the canary serve, and ends when the primary comes up', () => {
    const status = { phase: 'Failed' as const, canaryWeight: 100 };
    const model = left(status, { primary: 'b', target: 'b', pods: 2, weight: 100 });
    model.behaviours.set('b', { ...GOOD, primaryReady: false });
    play(model, 30);
    expect(model.route?.canaryWeight).toBe(100);
    expect(model.target?.desired).toBe(2);
    model.behaviours.set('b', GOOD);
    play(model, 5);
    expect(model.route?.canaryWeight).toBe(0);
    expect([model.written, model.outages]).toEqual([[], []]);
  });

  it('after a failed promotion lets a newer revision through at the deadline', () => {
    const status = { phase: 'Failed' as const, canaryWeight: 100 };
    const model = left(status, { primary: 'b', target: 'b', pods: 2, weight: 100 });
    model.behaviours.set('b', { ...GOOD, primaryReady: false });
    model.commit('c');
    play(model, 60);
    expect(model.primary?.digest).toBe('c');
    expect(model.status.lastKnownGood?.digest).toBe('c');
  });
});

/** Release `a` was good here before Flagger had the Canary again and wrote `b` to the primary. */
function promotedByFlagger(phase: CanaryPhase, weight: number): Model {
  const model = left({ phase: 'Succeeded' });
  play(model, 5);
  const status = { phase, canaryWeight: weight, lastAppliedSpec: FLAGGERS_HASH };
  model.leaveByFlagger(status, { primary: 'b', target: 'b', pods: 2, weight });
  return model;
}

describe('what was given back to Flagger, and comes again', () => {
  it('keeps what failed meanwhile from being tried again, and rolls out what comes after it', () => {
    const model = left({ phase: 'Succeeded' });
    play(model, 5);
    model.status = { phase: 'Failed', lastAppliedSpec: FLAGGERS_HASH, lastPromotedSpec: '6c9f8b44d5' };
    model.commit('b');
    play(model, 10);
    expect(model.rejected).toMatchObject([{ digest: 'b', reason: 'FailedUnderFlagger' }]);
    expect(model.status).toMatchObject({
      phase: 'Failed',
      lastAppliedSpec: 'b',
      lastKnownGood: { digest: 'a' },
    });
    expect([model.written, model.outages]).toEqual([[], []]);
    model.commit('c');
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('c');
  });

  it.each([
    ['Promoting', 50],
    ['Failed', 100],
  ] as const)('in phase %s carries the promotion to its end, without another analysis', (phase, weight) => {
    const model = promotedByFlagger(phase, weight);
    play(model, 30);
    expect(model.status).toMatchObject({ phase: 'Succeeded', lastKnownGood: { digest: 'b' } });
    expect(model.events.map(({ reason }) => reason)).not.toContain('NewRevision');
    expect([model.written, model.outages]).toEqual([[], []]);
  });

  it('goes back from a promotion that does not end, to what was good before', () => {
    const model = promotedByFlagger('Failed', 100);
    model.behaviours.set('b', { ...GOOD, primaryReady: false });
    play(model, 100);
    expect(model.primary?.digest).toBe('a');
    expect(model.rejected).toMatchObject([{ digest: 'b' }]);
    expect(model.outages).toEqual([]);
  });

  it('rolls out what came after it', () => {
    const model = left({ phase: 'Succeeded' });
    play(model, 5);
    model.status = { phase: 'Failed', lastAppliedSpec: FLAGGERS_HASH, lastPromotedSpec: '6c9f8b44d5' };
    model.headWasTried = false;
    model.commit('b');
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
  });
});

describe('a release that is told of under another digest', () => {
  it('becomes the last-known-good under its new name, without a word and without a rollout', () => {
    const model = left({ phase: 'Succeeded' });
    play(model, 5);
    const events = model.events.length;
    model.renamed = { from: 'a', to: 'a2' };
    model.commit('a2');
    play(model, 10);
    expect(model.status).toMatchObject({
      phase: 'Succeeded',
      lastAppliedSpec: 'a2',
      lastKnownGood: { digest: 'a2' },
    });
    expect(model.primary?.digest).toBe('a2');
    expect(model.events.slice(events)).toEqual([]);
    expect(model.status.history).toBeUndefined();
  });

  it('does so, too, where the primary changes right after the record was marked', () => {
    const model = left({ phase: 'Succeeded' });
    play(model, 5);
    const events = model.events.length;
    model.renamed = { from: 'a', to: 'a2' };
    model.commit('a2');
    model.refused.add('AdoptPrimary');
    play(model, 5);
    model.refused.clear();
    play(model, 5);
    expect(model.primary?.digest).toBe('a2');
    expect(model.status).toMatchObject({ phase: 'Succeeded', lastKnownGood: { digest: 'a2' } });
    expect(model.events.slice(events)).toEqual([]);
  });
});

const numRuns = Number(process.env.HOLDFAST_PROPERTY_RUNS ?? 100);

// The time limit only ends a hang; it grows with the number of worlds.
describe('in any phase, with a crash at any write', { timeout: 900_000 + numRuns * 100 }, () => {
  const phases: readonly CanaryPhase[] = [
    ...(['Initialized', 'Waiting', 'Progressing', 'WaitingPromotion', 'Promoting', 'Finalising'] as const),
    ...(['Succeeded', 'Failed'] as const),
  ];
  const scene = fc.record({
    phase: fc.constantFrom(...phases),
    primary: fc.constantFrom('a', 'b'),
    pods: fc.constantFrom(0, 2),
    weight: fc.constantFrom(0, 40, 100),
    ready: fc.boolean(),
    tried: fc.boolean(),
    crashes: fc.array(fc.constantFrom(0, 1, 2, 3, 99), { minLength: 12, maxLength: 12 }),
  });

  it('no safety rule is broken, nothing promoted is written anew, and it comes to rest', () => {
    fc.assert(
      fc.property(scene, ({ phase, primary, weight, pods, ready, tried, crashes }) => {
        const serves = weight > 0 ? 2 : pods;
        const model = left({ phase, canaryWeight: weight }, { primary, target: 'b', pods: serves, weight });
        model.headWasTried = tried;
        model.behaviours.set('b', { ...GOOD, primaryReady: ready });
        for (const after of crashes) model.tick(1000, after);
        model.behaviours.set('b', GOOD);
        play(model, 60);
        expect(model.broken).toEqual([]);
        expect(model.records.some(({ promotedTime }) => promotedTime !== undefined)).toBe(true);
        expect(model.unmarked).toBe(false);
        if (primary === 'b') expect(model.written).toEqual([]);
        const { writes } = model;
        for (let count = 0; count < 5; count += 1) model.tick(30_000);
        expect(model.writes).toBe(writes);
      }),
      { numRuns },
    );
  });

  it('nor when it was given back, and Flagger wrote a newer revision to the primary', () => {
    const written = fc.constantFrom('Promoting', 'Finalising', 'Failed', 'Succeeded');
    fc.assert(
      fc.property(scene, written, ({ weight, ready, crashes }, phase) => {
        const model = promotedByFlagger(phase as CanaryPhase, weight);
        model.behaviours.set('b', { ...GOOD, primaryReady: ready });
        for (const after of crashes) model.tick(1000, after);
        model.behaviours.set('b', GOOD);
        play(model, 60);
        expect(model.broken).toEqual([]);
        expect(model.unmarked).toBe(false);
        const { writes } = model;
        for (let count = 0; count < 5; count += 1) model.tick(30_000);
        expect(model.writes).toBe(writes);
      }),
      { numRuns: Math.ceil(numRuns / 3) },
    );
  });

  it('nor when it was given back, whatever Flagger did with a newer revision', () => {
    fc.assert(
      fc.property(scene, ({ phase, weight, pods, tried, crashes }) => {
        const model = left({ phase: 'Succeeded' });
        play(model, 5);
        const status = { phase, canaryWeight: weight, lastAppliedSpec: FLAGGERS_HASH };
        model.headWasTried = tried;
        model.leaveAgain(status, { target: 'b', pods: weight > 0 ? 2 : pods, weight });
        for (const after of crashes) model.tick(1000, after);
        play(model, 60);
        expect([model.broken, model.outages]).toEqual([[], []]);
        const isBarred = phase === 'Failed' && weight === 0 && tried;
        expect(model.primary?.digest).toBe(isBarred ? 'a' : 'b');
        const { writes } = model;
        for (let count = 0; count < 5; count += 1) model.tick(30_000);
        expect(model.writes).toBe(writes);
      }),
      { numRuns: Math.ceil(numRuns / 3) },
    );
  });
});
