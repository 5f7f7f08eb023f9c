import { describe, expect, it } from 'vitest';
import { GOOD, Model } from './model.ts';

const webhooks = [{ name: 'gate', type: 'confirm-traffic-increase', url: 'http://hooks.test/' }];

/** `b` is under way at 30 %, and the check there is due. */
function atThirtyPercent(): Model {
  const analysis = { interval: '10s', threshold: 2, stepWeights: [30, 60], webhooks };
  const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }];
  const model = new Model({ analysis: { ...analysis, metrics } } as never);
  model.commit('a');
  model.until('Initialized');
  model.commit('b', GOOD);
  for (let count = 0; count < 20 && model.route?.canaryWeight !== 30; count += 1) model.tick(1000);
  return model;
}

/** Somebody, or the loss of a workload, moves the weights; the loop sees it a moment later. */
function moved(model: Model, canaryWeight: number): void {
  if (model.route) model.route = { ...model.route, primaryWeight: 100 - canaryWeight, canaryWeight };
  model.tick(1000);
}

describe('a check says something of the share at which it was asked, and of no other (S4)', () => {
  it('an answer from before the weights were moved is asked for anew', () => {
    const model = atThirtyPercent();
    model.nowMs += 11_000;
    model.reconcile();
    expect(model.answer?.readings).toHaveLength(1);

    moved(model, 10);
    expect(model.route?.canaryWeight).toBe(10);
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    model.tick(11_000);

    expect(model.route?.canaryWeight).toBe(10);
    expect(model.status.failedChecks).toBe(1);
    expect(model.broken).toEqual([]);
  });

  it('a check that passed before its gates were asked is made again where the weights were moved meanwhile', () => {
    const model = atThirtyPercent();
    model.hooks['confirm-traffic-increase'] = 'hang';
    model.tick(11_000);
    expect(model.status.message).toContain('asking the gates before the next step');

    moved(model, 10);
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    model.hooks = {};
    model.tick(11_000);

    expect(model.route?.canaryWeight).toBe(10);
    expect(model.status.failedChecks).toBe(1);
    expect(model.broken).toEqual([]);
  });
});
