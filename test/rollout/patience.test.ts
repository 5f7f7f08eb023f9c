/** How long a release may take, and how often a check may fail or must pass: the rows of docs/guides/failed-promotion.md, "Patience". */
import { describe, expect, it } from 'vitest';
import { step } from '../../src/rollout/step.ts';
import { GOOD, Model } from './model.ts';

const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }];
const neverReady = { ...GOOD, primaryReady: false };
const failing = { ...GOOD, primaryMetric: 50 };

/** `b` on top of `a`, until its primary was written. */
function promoted(behaviour: typeof GOOD, postPromotion: object): Model {
  const model = new Model({ postPromotion: { metrics, ...postPromotion } });
  model.commit('a');
  model.until('Initialized');
  model.commit('b', behaviour);
  until(model, () => model.primary?.digest === 'b');
  return model;
}

/** Seconds until this holds, looked at each second. */
function until(model: Model, holds: () => boolean, mostSeconds = 2000): number {
  for (let seconds = 0; seconds <= mostSeconds; seconds += 1) {
    if (holds()) return seconds;
    model.tick(1000);
  }
  throw new Error(`not within ${mostSeconds} s: ${model.status.message}`);
}

const stateOf = (model: Model) => model.status.postPromotion?.state;
const isOver = (model: Model) => () =>
  model.status.phase === 'Succeeded' || model.status.run?.ending !== undefined;
const isVerifying = (model: Model) => () => stateOf(model) === 'Verifying';

describe('progressDeadlineSeconds', () => {
  it.each([20, 90])('lets the primary stand still for %d s', (progressDeadlineSeconds) => {
    const model = promoted(neverReady, { progressDeadlineSeconds, onFailure: 'revert' });
    expect(
      Math.abs(until(model, () => stateOf(model) === 'Reverting') - progressDeadlineSeconds),
    ).toBeLessThan(3);
  });

  it("is the Canary's where it is not given, and counts twice with auto", () => {
    const model = promoted(neverReady, {});
    expect(Math.abs(until(model, () => stateOf(model) === 'Held') - 60)).toBeLessThan(3);
    expect(Math.abs(until(model, () => stateOf(model) === 'Reverting') - 60)).toBeLessThan(3);
  });

  it('counts from the last pod that came up, not from those that come and go', () => {
    const model = promoted(neverReady, { progressDeadlineSeconds: 30, onFailure: 'revert' });
    const flap = (ready: number) => {
      model.nowMs += 1000;
      if (model.primary?.digest === 'b') model.primary.ready = ready;
      while (model.reconcile());
    };
    for (let second = 0; second < 20; second += 1) flap(0);
    flap(1);
    expect(stateOf(model)).toBe('Converging');
    let seconds = 0;
    while (stateOf(model) === 'Converging' && seconds < 100) flap(seconds++ % 2);
    expect(seconds).toBeGreaterThan(25);
    expect(seconds).toBeLessThan(35);
  });

  it('bounds how long checks may be without an answer, and then holds', () => {
    const model = promoted(GOOD, { progressDeadlineSeconds: 45 });
    until(model, isVerifying(model));
    model.providerDown = true;
    const seconds = until(model, () => stateOf(model) === 'Held');
    expect(seconds).toBeGreaterThan(44);
    expect(model.rejected).toEqual([]);
  });

  it.each([
    ['more', 6],
    ['fewer', 1],
  ])('of the canary starts anew when %s pods are asked for in the middle of a long analysis', (_, asked) => {
    const analysis = { interval: '600s', threshold: 2, stepWeights: [20, 60], metrics };
    const model = new Model({ analysis } as never);
    model.commit('a');
    model.until('Initialized');
    model.commit('b');
    until(model, () => model.route?.canaryWeight === 20);
    for (let minutes = 0; minutes < 5; minutes += 1) model.tick(60_000);
    const world = model.world();
    // The write was made a moment ago: its controller has not even seen it.
    const justScaled = world.target && { ...world.target, desiredReplicas: asked, observed: false };

    const { status } = step({ ...world, target: justScaled });

    expect(status).toMatchObject({
      phase: 'Progressing',
      message: expect.stringContaining('waiting for the canary'),
    });
  });
});

it('the progress deadline of a canary that was ready by its threshold starts anew when it is so no more', () => {
  const analysis = {
    interval: '600s',
    threshold: 2,
    stepWeights: [20, 60],
    metrics,
    canaryReadyThreshold: 50,
  };
  const model = new Model({ analysis } as never);
  model.commit('a');
  model.until('Initialized');
  model.commit('b');
  model.breakPods('canary', 1, { of: 'b' });
  until(model, () => model.route?.canaryWeight === 20);
  for (let minutes = 0; minutes < 5; minutes += 1) model.tick(60_000);
  expect(model.status.phase).toBe('Progressing');

  model.breakPods('canary', 2, { of: 'b' });
  const seconds = until(model, () => model.rejected.length > 0);
  expect(Math.abs(seconds - 60)).toBeLessThan(3);
});

describe('successThreshold', () => {
  it.each([1, 4])('asks for %d passing checks in a row', (successThreshold) => {
    const model = promoted(GOOD, { successThreshold, interval: '10s' });
    until(model, isVerifying(model));
    const seconds = until(model, isOver(model));
    expect(Math.abs(seconds - successThreshold * 10)).toBeLessThan(3);
  });

  it('counts from the beginning after a failed check', () => {
    const model = promoted(GOOD, { successThreshold: 3, threshold: 5, interval: '10s' });
    until(model, () => model.status.postPromotion?.passedChecks === 2);
    model.behaviours.set('b', failing);
    until(model, () => model.status.postPromotion?.failedChecks === 1);
    model.behaviours.set('b', GOOD);
    const seconds = until(model, isOver(model));
    expect(Math.abs(seconds - 30)).toBeLessThan(3);
  });

  it('counts from the beginning where the first answer after a hold is a failed check', () => {
    const model = promoted(GOOD, { successThreshold: 2, threshold: 5, interval: '10s' });
    until(model, () => model.status.postPromotion?.passedChecks === 1);
    model.providerDown = true;
    until(model, () => stateOf(model) === 'Held');
    model.behaviours.set('b', failing);
    model.providerDown = false;
    until(model, isVerifying(model));
    model.behaviours.set('b', GOOD);
    const seconds = until(model, isOver(model));
    expect(Math.abs(seconds - 20)).toBeLessThan(3);
  });

  it('of 0 leaves verification out', () => {
    const model = promoted(failing, { successThreshold: 0 });
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
  });
});

describe('the window of a metric', () => {
  it('is waited for before the first check, since it would look back on other pods', () => {
    const long = [{ ...metrics[0], interval: '60s' }];
    const model = promoted(GOOD, { metrics: long, interval: '10s', successThreshold: 2 });
    until(model, isVerifying(model));
    const seconds = until(model, () => (model.status.postPromotion?.passedChecks ?? 0) > 0);
    expect(Math.abs(seconds - 60)).toBeLessThan(3);
  });
});

describe('threshold', () => {
  it.each([1, 3])('takes the release back with failing check number %d', (threshold) => {
    const model = promoted(failing, { threshold, interval: '10s' });
    until(model, isVerifying(model));
    const seconds = until(model, () => stateOf(model) === 'Reverting');
    expect(Math.abs(seconds - threshold * 10)).toBeLessThan(3);
  });

  it('adds failures up, also when checks pass between them', () => {
    const model = promoted(failing, { threshold: 2, successThreshold: 50, interval: '10s' });
    until(model, () => model.status.postPromotion?.failedChecks === 1);
    model.behaviours.set('b', GOOD);
    until(model, () => model.status.postPromotion?.passedChecks === 3);
    model.behaviours.set('b', failing);
    until(model, () => stateOf(model) === 'Reverting');
    expect(model.outages).toEqual([]);
  });
});

describe('a pod of the primary that was evicted while the release is verified', () => {
  function evicted(postPromotion: object): Model {
    const model = promoted(GOOD, { interval: '10s', successThreshold: 5, ...postPromotion });
    until(model, isVerifying(model));
    model.brokenPods.primary = { count: 1, fault: 'NotReadyYet', of: undefined };
    return model;
  }

  it('fails no check while the one in its place starts', () => {
    const model = evicted({});
    for (let seconds = 0; seconds < 30; seconds += 1) model.tick(1000);
    expect(model.status.postPromotion).toMatchObject({ state: 'Verifying', reason: 'ChecksUnavailable' });
    delete model.brokenPods.primary;
    model.until('Succeeded');
    expect(model.status.history?.[0]).toMatchObject({ digest: 'b', result: 'Succeeded' });
    expect(model.broken).toEqual([]);
  });

  it('holds the release where that one never becomes ready, and fails it where it crashes', () => {
    const held = evicted({ progressDeadlineSeconds: 30 });
    until(held, () => stateOf(held) !== 'Verifying');
    expect(held.status.postPromotion).toMatchObject({ state: 'Held', reason: 'ChecksUnavailable' });
    const crashed = evicted({});
    crashed.brokenPods.primary = {
      count: 1,
      fault: 'CrashLoopBackOff',
      of: undefined,
    };
    until(crashed, () => stateOf(crashed) !== 'Verifying');
    expect(stateOf(crashed)).toBe('Reverting');
  });
});
