/** A quota, or the nodes, has room for the pods of both sides and not for one more: the canary's own pods keep the last-known-good out. */
import { describe, expect, it } from 'vitest';
import { GOOD, type Model } from '../model.ts';
import {
  analysis,
  conditionOf,
  expectBack,
  LONG_MS,
  live,
  metrics,
  pass,
  standing,
  until,
  untilOver,
} from './worlds.ts';

const spec = { analysis, postPromotion: { metrics, onFailure: 'revert' } };

/** `b` serves alone and fails its checks there; since then there is no room for one more pod. */
function revertedWithoutRoom(fault: string): Model {
  const model = live(spec);
  model.commit('b');
  until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
  model.crowdedBy = fault;
  model.behaviours.set('b', { ...GOOD, primaryMetric: 50 });
  until(model, 'the revert', () => model.status.postPromotion?.state === 'Reverting');
  return model;
}

describe('the last-known-good finds no room beside the canary', () => {
  it.each(['FailedCreate', 'Unschedulable'])('the idle canary gives way to it (%s)', (fault) => {
    const model = revertedWithoutRoom(fault);
    untilOver(model);
    pass(model, 1000);
    expectBack(model, { rejected: 'b' });
    expect(model.primary).toMatchObject({ ready: 2, oldReady: 0 });
    expect(conditionOf(model, 'Reverted')).toMatch(/^True/);
    expect(model.outages).toEqual([]);
  });

  it('a canary that serves the rejected release hands over to a primary with as many pods, and gives way', () => {
    const model = live(spec);
    model.crowdedBy = 'FailedCreate';
    model.commit('b');
    until(model, 'the revert', () => model.status.postPromotion?.state === 'Reverting');
    untilOver(model);
    expectBack(model, { rejected: 'b' });
    expect(model.primary).toMatchObject({ ready: 2, oldReady: 0 });
    expect(model.outages).toEqual([]);
  });

  it('a fault that more room does not end takes no pod from the canary', () => {
    const model = revertedWithoutRoom('ImagePullBackOff');
    until(model, 'Failed and Held', () => standing(model).startsWith('Failed/Held LKGNotReady'));
    pass(model, LONG_MS);
    expect(model.target?.desired).toBeGreaterThan(0);
    expect(model.outages).toEqual([]);
  });
});
