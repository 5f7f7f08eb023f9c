/** A quota, or the nodes, has room for the pods of both sides and not for one more: the canary's own pods keep the last-known-good out. */
import { describe, expect, it } from 'vitest';
import type { Action } from '../../../src/rollout/outcome.ts';
import { GOOD, type Model } from '../model.ts';
import { pass, standing } from '../waits.ts';
import { analysis, conditionOf, expectBack, LONG_MS, live, metrics, until, untilOver } from './worlds.ts';

const spec = { analysis, postPromotion: { metrics, onFailure: 'revert' } };

/** `b` serves alone and fails its checks there; since then there is no room for one more pod. */
function revertedWithoutRoom(fault: string, refused: readonly Action['type'][] = []): Model {
  const model = live(spec);
  model.commit('b');
  until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
  model.crowdedBy = fault;
  model.refused = new Set(refused);
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

  it.each(['HorizontalPodAutoscaler', 'ScaledObject'] as const)(
    'one under a %s gives way to it, too',
    (kind) => {
      const model = live(spec);
      model.scale(kind, 3);
      model.commit('b');
      until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
      model.crowdedBy = 'FailedCreate';
      model.behaviours.set('b', { ...GOOD, primaryMetric: 50 });
      until(model, 'the revert', () => model.status.postPromotion?.state === 'Reverting');
      untilOver(model);
      pass(model, 1000);
      expectBack(model, { rejected: 'b' });
      expect(model.outages).toEqual([]);
    },
  );

  describe.each([
    ['HorizontalPodAutoscaler', 'ScaleCanary'],
    ['ScaledObject', 'PauseScaler'],
  ] as const)('under a %s, and %s is refused', (kind, refused) => {
    const crowded = () => {
      const model = live(spec);
      model.scale(kind, 3);
      model.commit('b');
      until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
      model.crowdedBy = 'FailedCreate';
      model.refused = new Set([refused]);
      model.behaviours.set('b', { ...GOOD, primaryMetric: 50 });
      until(model, 'the revert', () => model.status.postPromotion?.state === 'Reverting');
      pass(model, 5_000);
      expect([model.target?.desired, model.primary?.ready]).toEqual([2, 2]);
      return model;
    };

    it.each([0, 1, 2, 3])(
      'it gives way once that is taken, whoever leads and is killed (after %i writes)',
      (writes) => {
        const model = crowded();
        for (let kills = 0; kills < 60; kills += 1) {
          if (kills === 30) model.refused.clear();
          model.tick(1000, writes + (kills % 2));
          model.leadAnew(kills % 2 === 0 ? 3_600_000 : -3_600_000);
        }
        model.leadAnew();
        untilOver(model);
        pass(model, 120_000);
        expectBack(model, { rejected: 'b' });
        expect(model.scalers?.left('primary')).toEqual([]);
        expect(model.outages).toEqual([]);
      },
    );

    it('a newer commit at that moment is tried, and nobody is without an answer', () => {
      const model = crowded();
      model.commit('c');
      pass(model, 10_000);
      model.refused.clear();
      model.crowdedBy = undefined;
      until(
        model,
        'c is live',
        () => model.status.lastPromotedSpec === 'c' && model.status.run === undefined,
      );
      expect(model.outages).toEqual([]);
      expect(model.broken).toEqual([]);
    });
  });

  it('it waits for as long as the canary may not be scaled, and nobody is without an answer', () => {
    const model = revertedWithoutRoom('FailedCreate', ['ScaleCanary']);
    pass(model, LONG_MS);
    expect(model.status.run).toBeDefined();
    expect(model.outages).toEqual([]);
    model.refused.clear();
    untilOver(model);
    expectBack(model, { rejected: 'b' });
    expect(model.outages).toEqual([]);
  });

  it('a newer commit at that moment is tried, and nobody is without an answer', () => {
    const model = revertedWithoutRoom('FailedCreate');
    until(model, 'the canary gave way', () => model.target?.desired === 0);
    model.commit('c');
    model.crowdedBy = undefined;
    until(model, 'c is live', () => model.status.lastPromotedSpec === 'c' && model.status.run === undefined);
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
