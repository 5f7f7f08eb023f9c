import { describe, expect, it } from 'vitest';
import { conditionOf } from '../../src/api/kubernetes.ts';
import { type Behaviour, GOOD, Model } from './model.ts';
import { savedRecord } from './record-model.ts';

/** Releases `a` and `b` have proven themselves; `b` is the last-known-good. */
function twoReleases(): Model {
  const model = new Model();
  model.commit('a');
  model.until('Initialized');
  model.commit('b');
  model.until('Succeeded');
  model.tick();
  return model;
}

function rollbackReady(model: Model) {
  return conditionOf(model.status, 'RollbackReady');
}

function play(model: Model, ticks: number): void {
  for (let count = 0; count < ticks; count += 1) model.tick();
}

/** The bytes of `b` are nowhere: its record is damaged, and Git moved on to `c`. */
function lost(how: Behaviour = GOOD): Model {
  const model = twoReleases();
  model.damaged.add('b');
  model.commit('c', how);
  return model;
}

describe('a damaged record of the last-known-good', () => {
  it('is written anew while Git says the same release, with the time at which it proved itself', () => {
    const model = twoReleases();
    const before = structuredClone(model.records);
    model.damaged.add('b');
    play(model, 2);
    expect(model.damaged.size).toBe(0);
    expect(model.records).toEqual(before);
    expect(rollbackReady(model)?.status).toBe('True');
    expect(model.events.filter(({ reason }) => reason === 'RecordDamaged')).toHaveLength(1);
  });

  it('stops everything but what is: no older release takes its place, nothing new begins, nothing is written', () => {
    const model = lost();
    play(model, 3);
    const { writes } = model;
    for (let poll = 0; poll < 100; poll += 1) model.tick(30_000);
    expect(model.writes).toBe(writes);
    expect([model.primary?.digest, model.target?.desired, model.route?.canaryWeight]).toEqual(['b', 0, 0]);
    expect(model.status.lastKnownGood?.digest).toBe('b');
    const condition = rollbackReady(model);
    expect([condition?.status, condition?.reason]).toEqual(['False', 'RecordDamaged']);
    expect(condition?.message).toContain('record-b is gone');
    expect(condition?.message).toContain('the next proven release is sha-a "release a"');
    expect(condition?.message).toMatch(/run: holdfast rollback -n \S+ canary\/\S+ --to sha-a$/);
    expect(model.events.filter(({ reason }) => reason === 'RecordDamaged')).toHaveLength(1);
  });

  it('is not written to a primary that is on its way back to it; once it is restored, it is', () => {
    const model = twoReleases();
    model.recreate = true;
    model.commit('c', { ...GOOD, primaryMetric: 50 });
    for (let count = 0; count < 300 && model.status.postPromotion?.state !== 'Reverting'; count += 1)
      model.tick(1000);
    expect(model.primary?.digest).toBe('c');
    model.damaged.add('b');
    play(model, 20);
    expect(model.primary?.digest).toBe('c');
    expect(rollbackReady(model)?.reason).toBe('RecordDamaged');
    expect(model.outages).toEqual([]);
    model.damaged.clear();
    model.until('Failed');
    expect(model.primary?.digest).toBe('b');
  });

  it('goes on by itself once the Secret is restored', () => {
    const model = lost();
    play(model, 3);
    model.damaged.clear();
    model.tick();
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('c');
    expect(model.broken).toEqual([]);
  });

  it('is left behind by putting the next proven release to head', () => {
    const model = lost();
    play(model, 3);
    model.commit('a', GOOD, 's1', 'sha-a2');
    model.tick();
    model.until('Succeeded');
    expect([model.primary?.digest, model.status.lastKnownGood?.digest]).toEqual(['a', 'a']);
    expect(rollbackReady(model)?.reason).toBe('RecordKept');
    expect(model.broken).toEqual([]);
    expect(model.outages).toEqual([]);
  });

  it('is not reverted to: a release that fails after promotion is held instead', () => {
    const model = twoReleases();
    model.commit('c', { ...GOOD, primaryMetric: 50 });
    for (let count = 0; count < 200 && model.primary?.digest !== 'c'; count += 1) model.tick();
    model.damaged.add('b');
    for (let count = 0; count < 200 && model.status.postPromotion?.state !== 'Held'; count += 1) model.tick();
    play(model, 50);
    expect(model.primary?.digest).toBe('c');
    expect(model.status.postPromotion?.state).toBe('Held');
    expect(model.outages).toEqual([]);
    for (const [verb, revision] of [
      ['abort', 'c'],
      ['rollback-to', 'b'],
    ] as const) {
      model.ask(verb, revision);
      model.tick();
      expect(model.status.answers?.[verb]).toMatchObject({
        ...{ result: 'Refused', reason: 'RecordDamaged' },
        message: expect.stringContaining('holdfast runbook RecordDamaged'),
      });
    }
    model.commit('d');
    model.tick();
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('d');
    expect(model.broken).toEqual([]);
  });

  it('lets a primary that was deleted wait, since only a person can say what it should run', () => {
    const model = lost();
    model.primary = undefined;
    play(model, 20);
    expect(model.primary).toBeUndefined();
    expect(model.status.message).toContain('the last-known-good cannot be restored');
    model.damaged.clear();
    model.tick();
    const { primary } = model.world();
    expect(primary?.digest).toBe('b');
  });
});

describe('a drill of the last-known-good', () => {
  it('stands in the condition until another release takes its place', () => {
    const model = twoReleases();
    const drilled = {
      status: 'False' as const,
      reason: 'DrillFailed',
      message: 'Deployment: refused',
    };
    const conditions = (model.status.conditions ?? []).map((one) =>
      one.type === 'RollbackReady' ? { ...one, ...drilled } : one,
    );
    model.status = { ...model.status, conditions };
    play(model, 5);
    expect(rollbackReady(model)).toMatchObject({ status: 'False', reason: 'DrillFailed' });
    model.commit('c');
    model.tick();
    model.until('Succeeded');
    play(model, 2);
    expect(rollbackReady(model)).toMatchObject({ status: 'True', reason: 'RecordKept' });
  });
});

describe('a Canary that is deleted and made again together with its live target', () => {
  /** As `twoReleases`, with a target that another tool applies. */
  function beside(): Model {
    const model = new Model();
    model.foreign = true;
    model.commit('a');
    model.until('Initialized');
    model.commit('b');
    model.until('Succeeded');
    return model;
  }

  it.each(['c', 'a', 'b'])('starts from its target, which runs %s, whatever the records say', (digest) => {
    const model = beside();
    model.createWithTarget(digest);
    model.until('Initialized');
    play(model, 2);
    expect([model.primary?.digest, model.status.lastKnownGood?.digest]).toEqual([digest, digest]);
    expect(model.status.phase).toBe('Initialized');
    expect(model.route).toMatchObject({ primaryWeight: 100, canaryWeight: 0 });
    expect(model.broken).toEqual([]);
  });

  it('goes by its records again once it is initialized: the next bad release is taken back to it', () => {
    const model = beside();
    model.createWithTarget('c');
    model.until('Initialized');
    model.commit('d', { ...GOOD, canaryReady: false });
    model.until('Failed');
    play(model, 2);
    expect([model.primary?.digest, model.status.lastKnownGood?.digest]).toEqual(['c', 'c']);
    expect(model.broken).toEqual([]);
  });

  it('starts from the last-known-good where the target runs a release that was rejected', () => {
    const model = beside();
    model.commit('c', { ...GOOD, canaryReady: false });
    model.until('Failed');
    model.createWithTarget('c');
    play(model, 20);
    expect([model.primary?.digest, model.status.lastKnownGood?.digest]).toEqual(['b', 'b']);
    expect(model.broken).toEqual([]);
  });
});

describe('records that nobody can need any more', () => {
  const kept = (model: Model) => model.records.map(({ digest }) => digest).sort();

  it('are deleted beyond the newest five', () => {
    const model = new Model();
    for (const digest of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
      model.commit(digest);
      for (let ticks = 0; model.status.lastKnownGood?.digest !== digest && ticks < 100; ticks += 1)
        model.tick();
    }
    play(model, 2);
    expect(kept(model)).toEqual(['c', 'd', 'e', 'f', 'g']);
  });

  it('are deleted when a newer commit takes the place of a release before it was proven', () => {
    const model = twoReleases();
    model.commit('c');
    play(model, 2);
    expect(kept(model)).toContain('c');
    model.commit('d');
    model.until('Succeeded');
    play(model, 2);
    expect(kept(model)).toEqual(['a', 'b', 'd']);
  });

  it('are deleted by the next process where the one before has ended in between', () => {
    const model = twoReleases();
    model.records.push(savedRecord('x'));
    play(model, 2);
    expect(kept(model)).toEqual(['a', 'b']);
  });

  it('stay while their deletion is refused, and the next release is promoted all the same', () => {
    const model = twoReleases();
    model.records.push(savedRecord('x'));
    model.refused.add('RemoveRecords');
    model.commit('c');
    for (let ticks = 0; model.status.lastKnownGood?.digest !== 'c' && ticks < 100; ticks += 1) model.tick();
    expect(model.status.lastKnownGood?.digest).toBe('c');
    expect(kept(model)).toEqual(['a', 'b', 'c', 'x']);
    model.refused.clear();
    play(model, 2);
    expect(kept(model)).toEqual(['a', 'b', 'c']);
  });

  it('stay while Git was not read: it may ask for one of them', () => {
    const model = twoReleases();
    model.records.push(savedRecord('x'));
    model.head = { kind: 'unknown', reason: 'SourceNotRead', message: 'not read yet' };
    play(model, 3);
    expect(kept(model)).toEqual(['a', 'b', 'x']);
  });
});
