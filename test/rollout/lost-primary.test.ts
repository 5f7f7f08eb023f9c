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
