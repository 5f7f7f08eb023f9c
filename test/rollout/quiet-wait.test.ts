import { expect, it } from 'vitest';
import { GOOD, Model } from './model.ts';

it('a release that is held because checks cannot be had is asked on and on, and its status is not written (L2)', () => {
  const model = new Model();
  model.commit('a');
  model.until('Initialized');
  model.commit('b', GOOD);
  for (let count = 0; count < 200 && model.status.postPromotion?.state !== 'Verifying'; count += 1)
    model.tick();
  model.providerDown = true;
  for (let count = 0; count < 200 && model.status.postPromotion?.state !== 'Held'; count += 1) model.tick();
  expect(model.status.postPromotion?.reason).toBe('ChecksUnavailable');
  model.tick();
  const before = JSON.stringify(model.status);
  const { writes } = model;
  const keys = new Set<string>();
  for (let count = 0; count < 100; count += 1) {
    model.tick(11_000);
    if (model.answer) keys.add(model.answer.key);
  }
  expect(keys.size).toBeGreaterThanOrEqual(99);
  expect([model.writes, JSON.stringify(model.status)]).toEqual([writes, before]);

  // A restart: the answers are forgotten, and the first key comes again.
  model.answer = undefined;
  model.tick(11_000);
  expect(JSON.stringify(model.status)).toBe(before);
  model.providerDown = false;
  model.until('Succeeded');
  expect(model.primary?.digest).toBe('b');
  expect(model.broken).toEqual([]);
});
