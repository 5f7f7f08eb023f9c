import { describe, expect, it } from 'vitest';
import { conditionOf } from '../../src/api/kubernetes.ts';
import { GOOD, Model } from './model.ts';
import { expectSafe, untilState } from './waits.ts';

/** A model whose release `a` is initialized, with `b` committed on top. */
function withRelease(behaviour = GOOD, spec = {}): Model {
  const model = new Model(spec);
  model.commit('a');
  model.until('Initialized');
  model.commit('b', behaviour);
  return model;
}

describe('a rollout', () => {
  it('initializes from the first commit', () => {
    const model = new Model();
    model.commit('a');
    model.until('Initialized');
    expect(model.status.lastKnownGood?.digest).toBe('a');
    expect(model.primary?.digest).toBe('a');
    expect(model.target?.desired).toBe(0);
    expect(model.broken).toEqual([]);
  });

  it('takes a good release through steps, promotion and verification', () => {
    const model = withRelease();
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
    expect(model.status.lastKnownGood?.digest).toBe('b');
    expect(model.status.lastPromotedCommit).toBe('sha-b');
    expect(conditionOf(model.status, 'Ready')?.status).toBe('True');
    expect(conditionOf(model.status, 'Verified')?.status).toBe('True');
    expectSafe(model);
  });

  it('stops a release whose check fails and rejects its digest', () => {
    const model = withRelease({ ...GOOD, canaryMetric: 50 });
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    expect(model.target?.desired).toBe(0);
    expect(model.rejected.map((entry) => entry.digest)).toEqual(['b']);
    expectSafe(model);
  });

  it.each([
    [GOOD, 'Succeeded', 'Normal'],
    [{ ...GOOD, canaryMetric: 50 }, 'AnalysisFailed', 'Warning'],
  ])('ends with one event that says how: %j', (behaviour, reason, type) => {
    const model = withRelease(behaviour);
    model.until(reason === 'Succeeded' ? 'Succeeded' : 'Failed');
    const types = model.events.flatMap((event) => (event.reason === reason ? [event.type] : []));
    expect(types).toEqual([type]);
  });

  it('writes nothing while a rejected release stays at head', () => {
    const model = withRelease({ ...GOOD, canaryMetric: 50 });
    model.until('Failed');
    model.tick();
    const { writes } = model;
    for (let poll = 0; poll < 1000; poll += 1) model.tick(30_000);
    expect(model.writes).toBe(writes);
  });

  it('fails a canary that never becomes ready, without any traffic', () => {
    const model = withRelease({ ...GOOD, canaryReady: false });
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    expectSafe(model);
  });

  it('starts again when a newer revision arrives', () => {
    const model = withRelease();
    model.tick();
    model.tick();
    model.commit('c');
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('c');
    expectSafe(model);
  });

  it('aborts when Git goes back to the last-known-good', () => {
    const model = withRelease();
    model.tick();
    model.tick();
    model.commit('a', GOOD, 's1', 'sha-revert');
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('a');
    expect(model.status.lastPromotedCommit).toBe('sha-revert');
    expect(model.rejected).toEqual([]);
    expectSafe(model);
  });

  it('tries a rejected release again when its commit is named in a retry, once per token', () => {
    const model = withRelease({ ...GOOD, canaryMetric: 50 });
    model.until('Failed');
    model.behaviours.set('b', GOOD);
    model.canary.metadata.annotations = { 'holdfast.dev/retry': 'sha-bbb@1' };
    model.tick();
    expect(model.status.phase).toBe('Failed');
    model.commit('b', GOOD, 's1', 'sha-bbbbbbb');
    model.canary.metadata.annotations = { 'holdfast.dev/retry': 'sha-bbbb@2' };
    model.tick();
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
    expectSafe(model);
  });

  it('stands still at its step while paused', () => {
    const model = withRelease();
    model.tick();
    model.tick();
    model.canary.metadata.annotations = { 'holdfast.dev/pause': 'true' };
    const weight = model.route?.canaryWeight;
    for (let count = 0; count < 20; count += 1) model.tick(20_000);
    expect(model.route?.canaryWeight).toBe(weight);
    expect(model.status.phase).toBe('Progressing');
    expect(model.status.next?.action).toBe('the rollout continues once it is resumed');
    model.canary.metadata.annotations = {};
    model.until('Succeeded');
    expectSafe(model);
  });

  it('gives traffic back to the primary by stepWeightPromotion', () => {
    const analysis = { interval: '10s', threshold: 1, stepWeight: 40, stepWeightPromotion: 30 };
    const model = withRelease(GOOD, { analysis });
    const seen = new Set<number>();
    for (let count = 0; count < 100 && model.status.phase !== 'Succeeded'; count += 1) {
      model.tick();
      if (model.status.phase === 'Promoting') seen.add(model.status.canaryWeight ?? -1);
    }
    expect(model.status.phase).toBe('Succeeded');
    expect([...seen]).toEqual([100, 70, 40, 10, 0]);
    expectSafe(model);
  });

  it('puts a canary that a crash left behind to rest before it starts the next one', () => {
    const model = withRelease();
    model.until('Succeeded');
    model.target = { ...model.target!, desired: 2, ready: 2 };
    model.commit('c');
    model.tick();
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('c');
    expectSafe(model);
  });

  it('applies a change of replicas alone while a rejected release is at head', () => {
    const model = withRelease({ ...GOOD, canaryMetric: 50 });
    model.until('Failed');
    model.commit('b', { ...GOOD, canaryMetric: 50 }, 's2', 'sha-b2');
    model.tick();
    expect(model.primary?.settingsKey).toBe('s2');
    expect(model.primary?.digest).toBe('a');
    expect(model.target?.desired).toBe(0);
  });
});

describe.each([false, true])('after promotion (Recreate: %s)', (recreate) => {
  function promoted(behaviour = GOOD, spec = {}): Model {
    const model = withRelease(behaviour, spec);
    model.recreate = recreate;
    return model;
  }

  it('reverts a release whose primary never becomes ready, and no request fails', () => {
    const model = promoted({ ...GOOD, primaryReady: false });
    untilState(model, 'Held');
    expect(model.route?.canaryWeight).toBe(100);
    expect(model.status.phase).toBe('Promoting');
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    expect(conditionOf(model.status, 'Reverted')?.status).toBe('True');
    expect(model.route?.canaryWeight).toBe(0);
    expectSafe(model);
  });

  it('names what the pods run that answer, not what was written last', () => {
    const model = promoted({ ...GOOD, primaryReady: false });
    untilState(model, 'Converging');
    const [first] = model.status.serving ?? [];
    expect(first?.digest).toBe(recreate ? 'b' : 'a');
    expect(first?.workload).toBe(recreate ? 'podinfo' : 'podinfo-primary');
  });

  it('goes on with the promotion when the primary heals while held', () => {
    const model = promoted({ ...GOOD, primaryReady: false });
    untilState(model, 'Held');
    model.behaviours.set('b', GOOD);
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
    expectSafe(model);
  });

  it('reverts at once when checks fail with all traffic on the primary', () => {
    const model = promoted({ ...GOOD, primaryMetric: 50 });
    untilState(model, 'Reverting');
    const verified = conditionOf(model.status, 'Verified');
    expect(verified).toMatchObject({ status: 'False', reason: 'ChecksFailed' });
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    expect(model.rejected.map((entry) => entry.reason)).toEqual(['ChecksFailed']);
    expectSafe(model);
  });

  it('holds without end with onFailure hold', () => {
    const model = promoted({ ...GOOD, primaryReady: false }, { postPromotion: { onFailure: 'hold' } });
    untilState(model, 'Held');
    for (let count = 0; count < 200; count += 1) model.tick();
    expect(model.status.postPromotion?.state).toBe('Held');
    expect(model.route?.canaryWeight).toBe(100);
    expectSafe(model);
  });

  it('reverts when Git goes back while held, without rejecting the release', () => {
    const model = promoted({ ...GOOD, primaryReady: false });
    untilState(model, 'Held');
    model.commit('a', GOOD, 's1', 'sha-revert');
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('a');
    expect(model.rejected).toEqual([]);
    expectSafe(model);
  });

  it('lets a fix through while held', () => {
    const model = promoted({ ...GOOD, primaryReady: false });
    untilState(model, 'Held');
    model.commit('c');
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('c');
    expectSafe(model);
  });

  it('never reverts because checks cannot be had', () => {
    const model = promoted();
    untilState(model, 'Verifying');
    model.providerDown = true;
    for (let count = 0; count < 100; count += 1) model.tick();
    expect(model.status.postPromotion).toMatchObject({ state: 'Held', reason: 'ChecksUnavailable' });
    expect(model.primary?.digest).toBe('b');
    model.providerDown = false;
    model.until('Succeeded');
    expectSafe(model);
  });

  it('names the cause elsewhere when the last-known-good fails the same check', () => {
    const model = promoted({ ...GOOD, primaryMetric: 50 });
    untilState(model, 'Reverting');
    model.behaviours.set('a', { ...GOOD, primaryMetric: 50 });
    untilState(model, 'Held');
    expect(model.status.phase).toBe('Failed');
    expect(model.status.postPromotion?.reason).toBe('LKGFailsToo');
    expectSafe(model);
  });

  it('does not take the last requests of the release that was left for a fault of the last-known-good', () => {
    const model = promoted({ ...GOOD, primaryMetric: 50 });
    untilState(model, 'Reverting');
    model.behaviours.set('a', { ...GOOD, primaryMetric: 50 });
    for (let count = 0; count < 100 && !model.status.message?.includes('once more'); count += 1) model.tick();
    model.behaviours.set('a', GOOD);
    model.until('Failed');
    expect(model.status.postPromotion?.reason).not.toBe('LKGFailsToo');
    expect(model.status.rejected).toHaveLength(1);
    expectSafe(model);
  });
});

describe('a newer revision while a release is verified', () => {
  const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }];
  const postPromotion = { metrics, interval: '10s', threshold: 3, successThreshold: 3 };
  /** `b` is verified, and its first check says this. */
  function verified(primaryMetric: number): Model {
    const model = withRelease({ ...GOOD, primaryMetric }, { postPromotion });
    untilState(model, 'Verifying');
    const checks = () =>
      (model.status.postPromotion?.passedChecks ?? 0) + (model.status.postPromotion?.failedChecks ?? 0);
    for (let count = 0; count < 100 && checks() === 0; count += 1) model.tick(1000);
    model.behaviours.set('b', GOOD);
    model.commit('c');
    model.until('Succeeded');
    return model;
  }
  const resultsOf = (model: Model) =>
    model.status.history?.map(({ digest, result }) => `${digest} ${result}`).slice(0, 2);

  it('takes its place after one check that passed', () => {
    expect(resultsOf(verified(100))).toEqual(['c Succeeded', 'b Superseded']);
  });

  it('waits for its end where a check has failed: nobody knows yet whether it is good', () => {
    const model = verified(50);
    expect(resultsOf(model)).toEqual(['c Succeeded', 'b Succeeded']);
    expectSafe(model);
  });
});
