import { expect, it } from 'vitest';
import { GOOD, Model } from './model.ts';

/** Release `b` passed its analysis and is written to the primary, which does not come up. */
function converging(spec = {}): Model {
  const model = new Model(spec);
  model.commit('a');
  model.until('Initialized');
  model.commit('b', { ...GOOD, primaryReady: false });
  for (let count = 0; count < 100 && model.status.postPromotion?.state !== 'Converging'; count += 1)
    model.tick();
  model.tick();
  expect(model.status.postPromotion?.state).toBe('Converging');
  return model;
}

it('a release that fails on both copies is reverted at once, not at the deadline', () => {
  const model = converging();
  const startedMs = model.nowMs;
  model.behaviours.set('b', { ...GOOD, primaryReady: false, canaryReady: false });

  while (model.status.postPromotion?.state === 'Converging') model.tick(1000);

  expect(model.status.postPromotion?.state).toBe('Reverting');
  expect(model.nowMs - startedMs).toBeLessThan(5_000);
  expect(model.status.postPromotion?.cause).toMatch(/^a probe fails: ProbeFailing in container app/);
  model.until('Failed');
  expect(model.primary?.digest).toBe('a');
  expect(model.broken).toEqual([]);
});

it('a release that fails on both copies while it is held is reverted at once', () => {
  const model = converging();
  while (model.status.postPromotion?.state === 'Converging') model.tick(5000);
  expect(model.status.postPromotion?.state).toBe('Held');
  model.behaviours.set('b', { ...GOOD, primaryReady: false, canaryReady: false });

  model.tick(1000);

  expect(model.status.postPromotion?.state).toBe('Reverting');
  model.until('Failed');
  expect(model.broken).toEqual([]);
});

it('onFailure hold waits for the deadline and holds, whatever the canary shows', () => {
  const model = converging({ postPromotion: { onFailure: 'hold' } });
  model.behaviours.set('b', { ...GOOD, primaryReady: false, canaryReady: false });

  for (let count = 0; count < 40; count += 1) model.tick();

  expect(model.status.postPromotion?.state).toBe('Held');
  expect(model.rejected).toEqual([]);
});
