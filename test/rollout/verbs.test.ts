import { describe, expect, it } from 'vitest';
import { GOOD, Model } from './model.ts';
import { expectSafe, untilLive, untilState, untilWeight } from './waits.ts';

/** `a`, then `b`, then `c` (with this behaviour) on top of them; `b` is the last-known-good. */
function withThree(behaviour = GOOD, spec = {}): Model {
  const model = new Model(spec);
  model.commit('a');
  model.until('Initialized');
  model.commit('b');
  model.until('Succeeded');
  model.commit('c', behaviour);
  return model;
}

function settle(model: Model): void {
  for (let count = 0; count < 200; count += 1) model.tick();
}

const answer = (model: Model, verb: string) => model.status.answers?.[verb];
const rejected = (model: Model) => model.rejected.map(({ digest, reason }) => `${digest} ${reason}`);

it('promote of a release that is written to the primary is refused, and says why', () => {
  const model = withThree({ ...GOOD, primaryReady: false });
  untilState(model, 'Converging');
  model.ask('promote', 'c');
  model.tick();
  expect(answer(model, 'promote')).toMatchObject({
    ...{ result: 'Refused', reason: 'NotApplicable' },
    message: expect.stringContaining('is already being promoted'),
  });
});

it.each(['abort', 'promote'])(
  '%s of a release that is proven and about to end is refused, and says so',
  (verb) => {
    const model = withThree();
    model.scale('HorizontalPodAutoscaler', 4);
    model.commit('c', GOOD, 's1', 'c'.repeat(40));
    untilState(model, 'Verifying');
    for (let count = 0; count < 100 && model.status.lastKnownGood?.digest !== 'c'; count += 1)
      model.tick(1000);
    expect(model.status.run?.digest).toBe('c');
    model.ask(verb, 'c');
    model.tick(100);
    expect(answer(model, verb)).toMatchObject({
      ...{ result: 'Refused', reason: 'NotApplicable' },
      message:
        'ccccccc "release c" is promoted and counts as good already; an earlier release comes back by a rollback',
    });
  },
);

describe('abort', () => {
  it('ends a release under analysis, which is then rejected', () => {
    const model = withThree();
    untilWeight(model, 50);
    model.ask('abort', 'sha-ccc');
    model.tick();
    expect(answer(model, 'abort')).toMatchObject({ result: 'Refused', reason: 'Stale' });
    model.ask('abort', 'c@1');
    model.until('Failed');
    settle(model);
    expect(rejected(model)).toEqual(['c Aborted']);
    expect(model.primary?.digest).toBe('b');
    expect(model.status.phase).toBe('Failed');
    expectSafe(model);
  });

  it.each(['Verifying', 'Held'])('takes the primary back in state %s', (state) => {
    const model = withThree(state === 'Held' ? { ...GOOD, primaryReady: false } : GOOD);
    untilState(model, state);
    model.ask('abort', 'c');
    model.tick();
    expect(answer(model, 'abort')?.result).toBe('Done');
    model.until('Failed');
    expect(rejected(model)).toEqual(['c Aborted']);
    expect(model.primary?.digest).toBe('b');
    expectSafe(model);
  });

  it('does nothing where no release is under way', () => {
    const model = withThree();
    untilLive(model, 'c');
    model.ask('abort', 'c');
    model.tick();
    expect(answer(model, 'abort')).toMatchObject({ result: 'Refused', reason: 'NotApplicable' });
    expect(model.status.phase).toBe('Succeeded');
  });

  it('can be taken back by retry', () => {
    const model = withThree();
    untilWeight(model, 50);
    model.ask('abort', 'c');
    model.until('Failed');
    model.ask('retry', 'c@1');
    model.tick();
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('c');
    expectSafe(model);
  });

  it.each([0, 1, 2])('is taken back by a retry that is cut short by a crash at write %i', (after) => {
    const model = withThree();
    untilWeight(model, 50);
    model.ask('abort', 'c');
    model.until('Failed');
    model.ask('retry', 'c@1');
    model.tick(1000, after);
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('c');
    expectSafe(model);
  });
});

describe('promote', () => {
  it('leaves the rest of the analysis out, not the checks after promotion', () => {
    const model = withThree({ ...GOOD, canaryMetric: 50 });
    untilWeight(model, 50);
    model.ask('promote', 'c');
    untilState(model, 'Verifying');
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('c');
    expectSafe(model);
  });

  it('counts a release that is verified as good', () => {
    const model = withThree({ ...GOOD, primaryMetric: 50 }, { postPromotion: { successThreshold: 9 } });
    untilState(model, 'Verifying');
    model.ask('promote', 'c');
    model.tick(1000);
    model.until('Succeeded');
    expect(model.status.lastKnownGood?.digest).toBe('c');
    expectSafe(model);
  });

  it('counts a release as good that is held because its checks have no answer', () => {
    const model = withThree({ ...GOOD, primaryMetric: undefined });
    untilState(model, 'Held');
    expect(model.status.postPromotion?.reason).toBe('ChecksUnavailable');
    model.ask('promote', 'c');
    model.tick(1000);
    model.until('Succeeded');
    expect(model.status.answers?.promote?.message).toContain('accepted as good on request');
    expect(model.status.lastKnownGood?.digest).toBe('c');
    expectSafe(model);
  });

  it('counts a release as good that is held because something else changes its primary', () => {
    const model = withThree();
    untilState(model, 'Verifying');
    for (let edits = 0; edits < 60 && model.status.postPromotion?.state !== 'Held'; edits += 1) {
      model.editPrimary();
      for (let second = 0; second < 3; second += 1) model.tick(1000);
    }
    expect(model.status.postPromotion?.reason).toBe('ForeignChange');
    model.ask('promote', 'c');
    model.until('Succeeded');
    expect(model.status.lastKnownGood?.digest).toBe('c');
    expectSafe(model);
  });

  it('keeps a held release from being reverted by itself, and abort still ends it', () => {
    const model = withThree({ ...GOOD, primaryReady: false });
    untilState(model, 'Held');
    model.ask('promote', 'c');
    settle(model);
    expect(model.status.postPromotion?.state).toBe('Held');
    model.ask('abort', 'c');
    model.until('Failed');
    expect(model.primary?.digest).toBe('b');
    expectSafe(model);
  });

  it('waits while paused', () => {
    const model = withThree();
    untilWeight(model, 50);
    model.ask('pause', 'true');
    model.ask('promote', 'c');
    settle(model);
    expect(model.status.phase).toBe('Progressing');
    expect(model.status.answers?.promote?.message).toBe(
      'sha-c "release c" is promoted on request with a ready canary, once holdfast resume ends the pause',
    );
    model.ask('pause', '');
    model.until('Succeeded');
    expectSafe(model);
  });
});

describe('skip-step', () => {
  it('leaves out one check, and only one', () => {
    const analysis = {
      interval: '60s',
      threshold: 2,
      stepWeights: [20, 40, 60],
      metrics: [],
    };
    const model = withThree(GOOD, { analysis });
    untilWeight(model, 20);
    model.ask('skip-step', 'c@1');
    for (let count = 0; count < 20; count += 1) model.tick(1000);
    expect(model.route?.canaryWeight).toBe(40);
    expectSafe(model);
  });
});

describe('rollback-to', () => {
  it('takes an older kept release by the fast lane, and rejects what was at head once that serves', () => {
    const model = withThree();
    untilLive(model, 'c');
    model.ask('rollback-to', 'a');
    model.tick();
    expect(model.status.run).toMatchObject({ digest: 'a' });
    expect(rejected(model)).toEqual([]);
    model.until('Failed');
    settle(model);
    expect(model.primary?.digest).toBe('a');
    expect(model.status.lastKnownGood?.digest).toBe('a');
    expect(rejected(model)).toEqual(['c RolledBack']);
    expectSafe(model);
  });

  it('stays with the last-known-good when the older one does not come up', () => {
    const model = withThree();
    untilLive(model, 'c');
    model.behaviours.set('a', { ...GOOD, canaryReady: false });
    model.ask('rollback-to', 'a');
    settle(model);
    expect(model.primary?.digest).toBe('c');
    expect(rejected(model)).toEqual(['a ProgressDeadlineExceeded']);
    expect(model.status.phase).toBe('Succeeded');
    expectSafe(model);
  });

  it.each(['Verifying', 'Held'])('ends a release in state %s first, then goes further back', (state) => {
    const model = withThree(state === 'Held' ? { ...GOOD, primaryReady: false } : GOOD);
    untilState(model, state);
    model.ask('rollback-to', 'a');
    settle(model);
    expect(model.primary?.digest).toBe('a');
    expect(model.status.lastKnownGood?.digest).toBe('a');
    expect(rejected(model)).toEqual(['c RolledBack']);
    expectSafe(model);
  });

  it('to the last-known-good ends the release under way', () => {
    const model = withThree();
    untilWeight(model, 50);
    model.ask('rollback-to', 'b');
    model.until('Failed');
    settle(model);
    expect(model.primary?.digest).toBe('b');
    expect(rejected(model)).toEqual(['c RolledBack']);
    expectSafe(model);
  });

  it('goes on when a newer revision comes, which is rolled out afterwards', () => {
    const model = withThree();
    untilLive(model, 'c');
    model.ask('rollback-to', 'a');
    model.tick();
    model.commit('d');
    settle(model);
    expect(model.primary?.digest).toBe('d');
    expect(model.status.history?.map(({ digest }) => digest).slice(0, 2)).toEqual(['d', 'a']);
    expectSafe(model);
  });

  it('works while paused: going back is not a promotion', () => {
    const model = withThree();
    untilLive(model, 'c');
    model.ask('pause', 'true');
    model.ask('rollback-to', 'a');
    settle(model);
    expect(model.primary?.digest).toBe('a');
    expectSafe(model);
  });

  it('replaces a last-known-good that does not come up any more', () => {
    const model = withThree({ ...GOOD, primaryReady: false });
    untilState(model, 'Held');
    model.behaviours.set('b', { ...GOOD, primaryReady: false });
    for (let count = 0; count < 200 && model.status.postPromotion?.reason !== 'LKGNotReady'; count += 1)
      model.tick();
    model.ask('rollback-to', 'a');
    settle(model);
    expect(model.primary?.digest).toBe('a');
    expect(model.broken).toEqual([]);
  });

  it.each([
    ['nonsense', 'NotKept'],
    ['zzzzzzz@1', 'NotKept'],
    ['c', 'NotApplicable'],
  ])('to %s is refused: %s', (value, reason) => {
    const model = withThree();
    untilLive(model, 'c');
    model.ask('rollback-to', value);
    settle(model);
    expect(answer(model, 'rollback-to')).toMatchObject({ result: 'Refused', reason });
    expect(model.primary?.digest).toBe('c');
  });

  it.each([
    ['at head', [], 'sha-c "release c" was rejected; it is at head: ask for a retry'],
    [
      'not at head',
      ['d'],
      'sha-c "release c" was rejected; only what is at head is retried: bring it back in Git, then ask for a retry',
    ],
  ])('to a rejected release %s is refused, and says how it comes back', (_where, later, message) => {
    const model = withThree();
    untilLive(model, 'c');
    model.ask('rollback-to', 'b');
    settle(model);
    expect(model.status).toMatchObject({ phase: 'Failed', lastKnownGood: { digest: 'b' } });
    for (const digest of later) {
      model.commit(digest);
      untilLive(model, digest);
    }
    model.ask('rollback-to', 'c@again');
    model.tick();
    expect(answer(model, 'rollback-to')).toMatchObject({ result: 'Refused', reason: 'Rejected', message });
  });
});

it('retry while head cannot be read is refused, and says why', () => {
  const model = withThree();
  untilWeight(model, 50);
  model.ask('abort', 'c');
  model.until('Failed');
  model.head = { kind: 'unknown', reason: 'RenderFailed', message: 'apps/x.yaml:3 is broken' };
  model.ask('retry', 'c');
  model.tick();
  expect(answer(model, 'retry')).toMatchObject({
    ...{ result: 'Refused', reason: 'NotApplicable' },
    message: 'what is at head is not known, so that nothing is tried again: apps/x.yaml:3 is broken',
  });
});

describe('requests', () => {
  it('are handled once, and again with another token', () => {
    const model = withThree();
    untilLive(model, 'c');
    for (const token of ['1', '1', '2']) {
      model.ask('ignore-window', `c@${token}`);
      settle(model);
    }
    expect(
      model.events.filter(({ message }) => message.startsWith('holdfast.dev/ignore-window')),
    ).toHaveLength(2);
    expect(answer(model, 'ignore-window')?.message).toBe('no window and no freeze holds the release back');
  });

  it('that a Canary is created with, as from a backup, are refused: they may be old ones', () => {
    const model = withThree();
    untilLive(model, 'c');
    model.ask('rollback-to', 'b');
    model.delete();
    model.createAgain();
    for (let count = 0; count < 5; count += 1) model.tick();
    expect(answer(model, 'rollback-to')).toMatchObject({ result: 'Refused', reason: 'NotApplicable' });
    settle(model);
    expect([model.primary?.digest, rejected(model)]).toEqual(['c', []]);

    model.ask('rollback-to', 'b@2');
    model.tick();
    expect(answer(model, 'rollback-to')?.result).toBe('Done');
  });

  it('that no version knows are warned of once, and forgotten with the annotation', () => {
    const model = withThree();
    untilLive(model, 'c');
    model.ask('retrry', 'c');
    settle(model);
    const warnings = model.events.filter(({ reason }) => reason === 'UnknownRequest');
    expect(warnings.map(({ message }) => message)).toEqual([
      'holdfast.dev/retrry: unknown request; it is ignored',
    ]);
    model.canary.metadata.annotations = {};
    model.tick();
    expect(model.status.handled).toEqual({});
  });

  it.each(['yes', 'True', '1'])('a pause that is %s is warned of once, and holds nothing', (value) => {
    const model = withThree();
    untilLive(model, 'c');
    model.ask('pause', value);
    settle(model);
    const warnings = model.events.filter(({ reason }) => reason === 'UnknownRequest');
    expect(warnings.map(({ message }) => message)).toEqual([
      'holdfast.dev/pause: only "true" pauses; it is ignored',
    ]);
    model.ask('pause', 'true');
    model.tick();
    expect(model.status.handled).toEqual({});
  });

  it('an annotation that the guides name for any object of a Source requests nothing', () => {
    const model = withThree();
    for (const key of ['substitute', 'decrypt', 'prune', 'on-conflict', 'healthy-when'])
      model.ask(key, 'disabled');
    settle(model);
    expect(model.events.filter(({ reason }) => reason === 'UnknownRequest')).toEqual([]);
  });

  it('of any length and content fit into the status', () => {
    const model = withThree();
    untilLive(model, 'c');
    for (const verb of ['abort', 'rollback-to', 'retry', 'x'.repeat(100)]) model.ask(verb, '@'.repeat(5000));
    settle(model);
    for (const [verb, value] of Object.entries(model.status.handled ?? {})) {
      expect(verb.length).toBeLessThanOrEqual(64);
      expect(value.length).toBeLessThanOrEqual(512);
    }
    expect(model.status.phase).toBe('Succeeded');
  });

  it('retry tries again without a new commit when the last-known-good fails the same check', () => {
    const model = withThree({ ...GOOD, primaryMetric: 50 });
    untilState(model, 'Reverting');
    model.behaviours.set('b', { ...GOOD, primaryMetric: 50 });
    for (let count = 0; count < 100 && model.status.postPromotion?.reason !== 'LKGFailsToo'; count += 1)
      model.tick();
    for (const digest of ['b', 'c']) model.behaviours.set(digest, GOOD);
    model.ask('retry', 'c@1');
    model.tick();
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('c');
    expectSafe(model);
  });
});
