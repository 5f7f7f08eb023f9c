/** Without a last-known-good that comes up, the way on leads through the primary, and a release is analysed there as anywhere else. */
import { describe, expect, it } from 'vitest';
import { GOOD, type Model } from '../model.ts';
import { atWeight, expectLive, fallen, LONG_MS, live, pass, seenBy, standing, until } from './worlds.ts';

/** The shares that a release on the primary had, as requests follow them, in order. */
function sharesOnPrimary(model: Model, digest: string): number[] {
  return seenBy(model, () => (model.primary?.digest === digest ? model.served?.primaryWeight : undefined));
}

describe('the last-known-good dies while the canary serves, and the canary fails its analysis (issue 11, 2)', () => {
  const dying = () => {
    const model = live();
    atWeight(model, 'b');
    model.die('a');
    model.tick(1000);
    model.outages.length = 0;
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    return model;
  };

  it('the canary serves on, and people are told that the last-known-good is not ready', () => {
    const model = dying();
    pass(model, 180_000);
    expect(standing(model)).toMatch(/^Failed\/Held LKGNotReady, 100 % on the canary/);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it('and a pushed fix gets through, analysed on the primary', () => {
    const model = dying();
    pass(model, 180_000);
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
    expect(model.asks).toContain('primary analysis c');
    expect(model.outages).toEqual([]);
  });
});

describe('a newer revision goes through the primary (issue 11, 9)', () => {
  it('and its share rises step by step, each after a check', () => {
    const model = fallen();
    const shares = sharesOnPrimary(model, 'c');
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
    expect(shares).toEqual([0, 50, 100]);
    expect(model.asks).toContain('primary analysis c');
    expect(model.written).toEqual(['c']);
    expect(model.outages).toEqual([]);
  });

  it('and one that fails its checks there goes back to the canary, rejected', () => {
    const model = fallen();
    const shares = sharesOnPrimary(model, 'c');
    model.commit('c', { ...GOOD, primaryMetric: 50 });
    pass(model, 300_000);
    expect(Math.max(...shares)).toBeLessThanOrEqual(50);
    expect(model.rejected.map(({ digest }) => digest)).toContain('c');
    expect(standing(model)).toMatch(/^Failed\/Held LKGNotReady, 100 % on the canary/);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it.each([
    ['RollingUpdate', false],
    ['Recreate', true],
  ])('but never over a primary that has ready pods and all the traffic (%s)', (_name, recreate) => {
    const model = fallen({}, (empty) => {
      empty.recreate = recreate;
    });
    model.breakPods('primary', 1, { of: 'a' });
    model.behaviours.set('b', { ...GOOD, canaryReady: false, primaryReady: false });
    model.behaviours.set('a', GOOD);
    pass(model, 5000);
    expect(model.route?.canaryWeight).toBe(0);
    model.outages.length = 0;
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expect(model.outages).toEqual([]);
    expectLive(model, 'c');
  });
});

describe('the record of the last-known-good is lost while a release is held (issue 11, 16)', () => {
  it('and a newer commit gets through the primary, analysed there', () => {
    const model = live({ postPromotion: { onFailure: 'hold' } });
    model.commit('b', { ...GOOD, primaryReady: false });
    until(model, 'Held', () => model.status.postPromotion?.state === 'Held');
    pass(model, 20_000);
    model.damaged.add('a');
    model.written.length = 0;
    const shares = sharesOnPrimary(model, 'c');
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
    expect(model.written).toEqual(['c']);
    expect(shares).toEqual([0, 50, 100]);
    expect(model.outages).toEqual([]);
  });

  it('but only once the canary carries all traffic: until then old pods of the primary serve, and it stays held', () => {
    const model = live({ postPromotion: { onFailure: 'hold' } });
    model.commit('b', { ...GOOD, primaryReady: false });
    until(model, 'Held', () => model.status.postPromotion?.state === 'Held');
    model.damaged.add('a');
    model.written.length = 0;
    model.breakPods('canary', 1);
    if (model.route) Object.assign(model.route, { primaryWeight: 50, canaryWeight: 50 });
    model.commit('c');
    pass(model, 200_000);
    expect(standing(model)).toMatch(/^Promoting\/Held/);
    expect(model.written).toEqual([]);
    model.healPods();
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
  });
});
