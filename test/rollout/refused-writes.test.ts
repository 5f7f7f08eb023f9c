/** The API server refuses one kind of write for good, as by a quota, a webhook or missing rights: nothing is written over and over. */
import { describe, expect, it } from 'vitest';
import { conditionOf } from '../../src/api/kubernetes.ts';
import { isSame } from '../../src/rollout/finish.ts';
import type { Action } from '../../src/rollout/outcome.ts';
import { GOOD, Model } from './model.ts';
import { until } from './waits.ts';

const bad = { ...GOOD, primaryMetric: 50 };

/** How many of the next twenty looks, a tenth of a second apart, find a status to write. Each write would call for the next look at once. */
function statusesIn2Seconds(model: Model): number {
  let changes = 0;
  for (let look = 0; look < 20; look += 1) {
    const before = structuredClone(model.status);
    model.tick(100);
    if (!isSame(before, model.status)) changes += 1;
  }
  return changes;
}

const isState = (model: Model, state: string) => model.status.postPromotion?.state === state;

/** `a` proved itself, and `b` is at this point. */
const points: Readonly<Record<string, (model: Model) => void>> = {
  'a release is at head': (model) => model.commit('b'),
  'a release is analysed': (model) => {
    model.commit('b');
    until(model, () => (model.status.canaryWeight ?? 0) > 0);
  },
  'a release is on the primary': (model) => {
    model.commit('b');
    until(model, () => isState(model, 'Converging') && model.primary?.digest === 'b');
  },
  'a release is verified': (model) => {
    model.commit('b');
    until(model, () => isState(model, 'Verifying'));
  },
  'a release fails its analysis': (model) => {
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    until(model, () => (model.status.canaryWeight ?? 0) > 0);
  },
  'a release fails on the primary': (model) => {
    model.commit('b', bad);
    until(model, () => isState(model, 'Verifying'));
  },
  'a release does not come up on the primary': (model) => {
    model.commit('b', { ...GOOD, primaryReady: false });
    until(model, () => isState(model, 'Converging') && model.primary?.digest === 'b');
  },
  'somebody changes the primary while it is verified': (model) => {
    model.commit('b');
    until(model, () => isState(model, 'Verifying'));
    model.editPrimary();
  },
  'somebody deletes the route while the primary is verified': (model) => {
    model.commit('b');
    until(model, () => isState(model, 'Verifying'));
    model.route = undefined;
  },
};

const refusals: readonly Action['type'][] = [
  'ApplyCanary',
  'ScaleCanary',
  'ApplyPrimary',
  'ScalePrimary',
  'SetTraffic',
  'EnsureServices',
  'SaveRecord',
  'MarkProven',
  'RemoveRecords',
  'Reject',
];

/** Nothing that the release waits for comes; every half minute it is seen whether the status settles. */
function expectSettled(model: Model): void {
  for (let second = 0; second < 90; second += 1) {
    model.tick(1000);
    if (second % 30 === 0) expect(statusesIn2Seconds(model)).toBeLessThan(6);
  }
  expect(model.broken).toEqual([]);
}

function running(): Model {
  const model = new Model();
  model.commit('a');
  model.until('Initialized');
  return model;
}

describe.each(refusals)('while %s is refused', (type) => {
  it.each(Object.entries(points))('and %s, the status settles', (_, reach) => {
    const model = running();
    reach(model);
    model.refused.add(type);
    expectSettled(model);
  });
});

it('a primary whose pods go before new ones come is written once the write is allowed, and promoted', () => {
  const model = running();
  model.recreate = true;
  model.commit('b');
  model.refused.add('ApplyPrimary');
  until(model, () => model.refusals.length > 0);
  expectSettled(model);
  model.refused.clear();
  model.until('Succeeded');
  expect(model.primary?.digest).toBe('b');
  expect(model.outages).toEqual([]);
});

it('a route that could not be written for long before the primary rejects nothing', () => {
  const model = running();
  model.recreate = true;
  model.commit('b');
  until(model, () => (model.route?.canaryWeight ?? 0) >= 50);
  model.refused.add('SetTraffic');
  until(model, () => isState(model, 'Converging'));
  for (let second = 0; second < 300; second += 1) model.tick(1000);
  expect([model.rejected, model.status.phase]).toEqual([[], 'Promoting']);
  expectSettled(model);
  model.refused.clear();
  model.until('Succeeded');
  expect(model.primary?.digest).toBe('b');
  expect(model.outages).toEqual([]);
});

it('a primary that could not be written for long has its whole deadline from when it is', () => {
  const model = running();
  model.commit('b', { ...GOOD, primaryReady: false });
  model.refused.add('ApplyPrimary');
  until(model, () => model.refusals.length > 0);
  for (let second = 0; second < 300; second += 1) model.tick(1000);
  model.refused.clear();
  until(model, () => model.primary?.digest === 'b');
  const writtenMs = model.nowMs;
  until(model, () => isState(model, 'Reverting') || isState(model, 'Held'));
  expect(model.nowMs - writtenMs).toBeGreaterThanOrEqual(50_000);
});

it('checks count from when a route that somebody deleted is back', () => {
  const model = running();
  points['somebody deletes the route while the primary is verified']?.(model);
  model.refused.add('SetTraffic');
  for (let second = 0; second < 60; second += 1) model.tick(1000);
  expect(isState(model, 'Verifying')).toBe(true);
  model.refused.clear();
  until(model, () => model.route !== undefined);
  const backMs = model.nowMs;
  model.until('Succeeded');
  expect(model.nowMs - backMs).toBeGreaterThanOrEqual(10_000);
});

it.each([100, 20])(
  "while the primary's scaler is not raised, the status settles (stepWeightPromotion %d)",
  (stepWeightPromotion) => {
    const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }];
    const analysis = { interval: '10s', threshold: 2, stepWeights: [10, 50], stepWeightPromotion, metrics };
    const model = new Model({ analysis } as never);
    model.commit('a');
    model.until('Initialized');
    model.scale('HorizontalPodAutoscaler', 10);
    model.recreate = true;
    model.commit('b');
    until(model, () => model.primary?.digest === 'b' && model.route?.canaryWeight === 100);
    model.refused.add('SetScalerFloor');
    Object.assign(model.scalers ?? {}, { work: () => undefined });
    Object.assign(model.primary ?? {}, { desired: 1, ready: 1, oldReady: 0 });
    const stalled = () => conditionOf(model.status, 'Stalled');
    until(model, () => model.status.message?.includes('ready pods that it needs') === true);
    expectSettled(model);
    expect(stalled()).toMatchObject({ status: 'True', reason: 'WaitingForCapacity' });
  },
);
