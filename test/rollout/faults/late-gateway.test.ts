/** A move of traffic has arrived when the gateway took it over: on the way up and on the way down (issue 11, 17 and 18). */
import { describe, expect, it } from 'vitest';
import { GOOD, type Model } from '../model.ts';
import { pass } from '../waits.ts';
import {
  analysis,
  atWeight,
  conditionOf,
  expectBack,
  expectLive,
  LONG_MS,
  live,
  seenBy,
  until,
  untilOver,
} from './worlds.ts';

const late = (gatewayDelayMs: number, recreate = false) =>
  live({}, (empty) => {
    empty.recreate = recreate;
    empty.gatewayDelayMs = gatewayDelayMs;
  });

/** States in which requests still went to the canary although the release is called verified, or about to be. */
function verifiedTooEarly(model: Model): string[] {
  return seenBy(model, () => {
    const { state } = model.status.postPromotion ?? {};
    const weight = model.served?.canaryWeight ?? 0;
    return state === 'Verifying' && weight > 0 ? `${state} with ${weight} % on the canary` : undefined;
  });
}

describe.each([
  ['RollingUpdate', false],
  ['Recreate', true],
])('the gateway takes 10 s for each write, %s (issue 11, 17)', (_name, recreate) => {
  it('and no request fails while a release is promoted', () => {
    const model = late(10_000, recreate);
    const early = verifiedTooEarly(model);
    model.commit('b');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expect(model.outages).toEqual([]);
    expect(early).toEqual([]);
    expectLive(model, 'b');
  });

  it('and none while a release that fails its analysis is left', () => {
    const model = late(10_000, recreate);
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    until(model, 'b under way', () => model.status.run?.digest === 'b');
    pass(model, LONG_MS, () => model.status.run === undefined);
    expect(model.outages).toEqual([]);
    expectBack(model, { rejected: 'b' });
  });

  it('and none while one that fails after promotion is reverted', () => {
    const model = late(10_000, recreate);
    model.commit('b', { ...GOOD, primaryMetric: 50 });
    until(model, 'b under way', () => model.status.run?.digest === 'b');
    pass(model, LONG_MS, () => model.status.run === undefined);
    expect(model.outages).toEqual([]);
    expectBack(model, { rejected: 'b' });
  });
});

describe('the controller of the gateway stands still for 25 s at 50 % (issue 11, 17)', () => {
  it('and a primary with Recreate is not cleared before requests left it', () => {
    const model = late(0, true);
    const early = verifiedTooEarly(model);
    atWeight(model, 'b');
    model.stopGateway(25_000);
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expect(model.outages).toEqual([]);
    expect(early).toEqual([]);
    expectLive(model, 'b');
  });

  it('and an aborted canary serves until requests left it', () => {
    const model = late(0);
    atWeight(model, 'b');
    model.stopGateway(25_000);
    model.ask('abort', 'b');
    pass(model, LONG_MS, () => model.status.run === undefined);
    expect(model.outages).toEqual([]);
    expectBack(model, { rejected: 'b' });
  });
});

it('a gateway that never takes a move over is told, and stalls after the deadline (issue 11, 17)', () => {
  const model = late(0);
  atWeight(model, 'b');
  model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
  model.stopGateway(LONG_MS);
  pass(model, 45_000);
  expect(conditionOf(model, 'Ready')).toBe('False RouteNotAccepted');
  expect(conditionOf(model, 'Stalled')).toMatch(/^False/);
  expect(conditionOf(model, 'Reconciling')).toMatch(/^True/);
  pass(model, 135_000);
  expect(conditionOf(model, 'Ready')).toBe('False RouteNotAccepted');
  expect(conditionOf(model, 'Stalled')).toMatch(/^True/);
  expect(conditionOf(model, 'Reconciling')).toMatch(/^False/);
  expect(model.target?.ready).toBeGreaterThan(0);
  expect(model.outages).toEqual([]);
  expect(model.broken).toEqual([]);
});

describe('a canary with strategy Recreate (issue 11, 18)', () => {
  const busy = (spec = {}) =>
    live(spec, (empty) => {
      Object.assign(empty, { recreate: true, recreateTarget: true, gatewayDelayMs: 1500 });
    });

  it('is not written for a newer revision before requests left it', () => {
    const model = busy();
    atWeight(model, 'b');
    pass(model, 3000);
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expect(model.outages).toEqual([]);
    expectLive(model, 'c');
  });

  it('is not written for a newer revision while it has all traffic', () => {
    const model = busy({ analysis: { ...analysis, stepWeight: 100, maxWeight: 100 } });
    atWeight(model, 'b', 100);
    pass(model, 3000);
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expect(model.outages).toEqual([]);
    expectLive(model, 'c');
  });
});

it('the first check after promotion counts from when the gateway gave the primary all traffic, not from when verification begins', () => {
  const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '5s' }];
  const model = live({ postPromotion: { metrics, interval: '2s', threshold: 1 } });
  let fullMs = 0;
  model.commit('b', { ...GOOD, primaryMetric: 50 });
  until(model, 'the revert', () => {
    const isFull = model.primary?.digest === 'b' && model.served?.canaryWeight === 0;
    if (isFull && fullMs === 0) fullMs = model.nowMs;
    return model.reverts.length > 0;
  });
  expect(model.nowMs - fullMs).toBeLessThanOrEqual(6_000);
});

describe('the controller of the gateway does not accept the route any more while nothing is released', () => {
  it('and Ready is False with the reason at once, it is told once after a minute, and Ready again when it does', () => {
    const model = live();
    const told = () => model.events.filter(({ reason }) => reason === 'RouteNotAccepted').length;
    model.refuseRoute('Gateway edge does not accept HTTPRoute podinfo: ResolvedRefs is False');
    pass(model, 5_000);
    expect(conditionOf(model, 'Ready')).toBe('False RouteNotAccepted');
    expect(conditionOf(model, 'Stalled')).toMatch(/^False/);
    expect(told()).toBe(0);

    pass(model, 180_000);

    expect(conditionOf(model, 'Ready')).toBe('False RouteNotAccepted');
    expect(conditionOf(model, 'Stalled')).toBe('True RouteNotAccepted');
    expect(model.status.message).toContain('ResolvedRefs is False');
    expect(model.status.incidents?.[0]).toMatchObject({ outcome: 'Stopped', reason: 'RouteNotAccepted' });
    expect(told()).toBe(1);

    model.refuseRoute(undefined);
    pass(model, 5_000);
    expect(conditionOf(model, 'Ready')).toMatch(/^True/);
    expect(conditionOf(model, 'Stalled')).toMatch(/^False/);
  });

  it('and a newer release is started all the same', () => {
    const model = live();
    model.refuseRoute('HTTPProxy is invalid');
    pass(model, 120_000);
    model.commit('b');
    until(model, 'b under way', () => model.status.run?.digest === 'b');
    model.refuseRoute(undefined);
    untilOver(model);
    expectLive(model, 'b');
  });

  it('and what is said is that pods are missing, where the primary lost some of them', () => {
    const model = live();
    model.refuseRoute('HTTPProxy is invalid');
    model.behaviours.set('a', { ...GOOD, primaryReady: false });
    pass(model, 180_000);
    expect(conditionOf(model, 'Ready')).toMatch(/^False (?!RouteNotAccepted)/);
    expect(model.events.map(({ reason }) => reason)).not.toContain('RouteNotAccepted');
  });

  it('and after a rejection it is told as well, in its own time', () => {
    const model = live();
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    until(model, 'the rejection', () => model.status.phase === 'Failed' && !model.status.run);
    pass(model, 120_000);
    const told = () => model.events.filter(({ reason }) => reason === 'RouteNotAccepted').length;

    model.refuseRoute('HTTPProxy is invalid');
    pass(model, 30_000);
    expect(conditionOf(model, 'Ready')).toBe('False RouteNotAccepted');
    expect(conditionOf(model, 'Stalled')).toMatch(/^True AnalysisFailed/);
    expect(told()).toBe(0);
    pass(model, 150_000);
    expect(conditionOf(model, 'Stalled')).toBe('True RouteNotAccepted');
    expect(told()).toBe(1);

    model.refuseRoute(undefined);
    pass(model, 5_000);
    expect(conditionOf(model, 'Ready')).toMatch(/^False AnalysisFailed/);
    expect(conditionOf(model, 'Stalled')).toMatch(/^True AnalysisFailed/);
  });
});
