import { expect, test } from 'vitest';
import { GOOD, Model } from './model.ts';

/** `b` is on its way on top of `a`, until its state after promotion is this one. */
function releaseIn(state: string): Model {
  const postPromotion = { onFailure: 'hold' as const, successThreshold: 50, progressDeadlineSeconds: 60 };
  const model = new Model({ postPromotion });
  model.commit('a');
  model.until('Initialized');
  model.commit('b', { ...GOOD, primaryReady: state !== 'Converging' });
  for (let count = 0; count < 200 && model.status.postPromotion?.state !== state; count += 1) model.tick();
  expect(model.status.postPromotion?.state).toBe(state);
  return model;
}

test('a primary that is not up by its deadline in Promoting leaves the canary as it is, with all traffic', () => {
  const model = releaseIn('Converging');
  const { desired } = model.target ?? { desired: 0 };
  for (let count = 0; count < 60 && model.status.postPromotion?.state !== 'Held'; count += 1) model.tick();
  for (let count = 0; count < 20; count += 1) model.tick();
  expect(model.status).toMatchObject({
    phase: 'Promoting',
    canaryWeight: 100,
    postPromotion: { state: 'Held' },
  });
  expect(model.target?.desired).toBe(desired);
  expect(model.outages).toEqual([]);
  expect(model.broken).toEqual([]);
});

test('a primary that falls in Finalising leaves the canary as it is, with all traffic', () => {
  const model = releaseIn('Verifying');
  const { desired } = model.target ?? { desired: 0 };
  model.behaviours.set('b', { ...GOOD, primaryReady: false });
  for (let count = 0; count < 60; count += 1) model.tick();
  expect(model.status).toMatchObject({ canaryWeight: 100, postPromotion: { state: 'Held' } });
  expect(model.target?.desired).toBe(desired);
  expect(model.primary?.digest).toBe('b');
  expect(model.broken).toEqual([]);
});

test('a Canary whose primary is gone leaves its target running when it is deleted', () => {
  const model = new Model({ revertOnDeletion: true });
  model.commit('a');
  model.until('Initialized');
  model.delete();
  model.primary = undefined;
  for (let count = 0; count < 60 && !model.gone; count += 1) model.tick();
  expect(model.gone).toBe(true);
  expect(model.target?.ready).toBeGreaterThan(0);
  expect(model.broken).toEqual([]);
});

test.each([
  ['the fault and the loss at once', 0],
  ['the loss first: the fault is told by the pods, a moment after the workload counted them out', 1000],
])('a primary that crashes in Finalising is reverted at once, whichever is seen first: %s', (_, lateMs) => {
  const postPromotion = { successThreshold: 50, progressDeadlineSeconds: 300 };
  const model = new Model({ postPromotion });
  model.commit('a');
  model.until('Initialized');
  model.commit('b');
  for (let count = 0; count < 200 && model.status.postPromotion?.state !== 'Verifying'; count += 1)
    model.tick();
  const { desired } = model.primary ?? { desired: 0 };
  if (lateMs > 0) {
    model.breakPods('primary', desired);
    model.tick(lateMs);
  }
  model.breakPods('primary', desired, { fault: 'CrashLoopBackOff' });
  for (let passedMs = 0; passedMs < 10_000; passedMs += 1000) model.tick(1000);
  expect(model.reverts).toEqual(['b']);
  expect(model.broken).toEqual([]);
});

test('a canary that fails while its primary is gone keeps the ready pods of before until that is back', () => {
  const model = new Model({});
  model.commit('a');
  model.until('Initialized');
  model.commit('b');
  model.tick(1000);
  model.commit('c', { ...GOOD, canaryReady: false });
  model.tick(1000);
  model.primary = undefined;

  model.tick(61_000);

  expect(model.target?.desired).toBe(2);
  expect(model.status.message).toContain('the canary keeps its pods until the primary is ready');
  for (let count = 0; count < 60 && model.status.phase !== 'Failed'; count += 1) model.tick();
  expect([model.primary, model.target?.desired]).toMatchObject([{ digest: 'a', ready: 2 }, 0]);
  expect(model.broken).toEqual([]);
});
