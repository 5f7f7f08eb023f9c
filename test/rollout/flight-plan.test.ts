import { describe, expect, it } from 'vitest';
import type { Canary } from '../../src/api/canary/canary.ts';
import { flightPlanOf } from '../../src/review/plan/flight-plan.ts';
import { GOOD, Model } from './model.ts';

const tickMs = 1_000;
/** What the model's pods take, and the pause after they changed: no part of a flight plan. */
const podsMs = 15_000;

const strategies: ReadonlyArray<Record<string, unknown>> = [
  { stepWeight: 50, maxWeight: 50 },
  { stepWeight: 30, maxWeight: 100, stepWeightPromotion: 40 },
  { stepWeights: [1, 5, 50] },
  { iterations: 3 },
  { iterations: 2, match: [{ headers: { cookie: { exact: 'a' } } }] },
];

describe.each(strategies)('with %o', (analysis) => {
  it.each([1, 3])('a rollout takes the foretold weights and time, and %i checks after it', (checks) => {
    const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '30s' }];
    const model = new Model({
      analysis: { interval: '30s', threshold: 2, metrics, ...analysis },
      postPromotion: { successThreshold: checks, metrics },
    } as unknown as Partial<Canary['spec']>);
    model.commit('a');
    model.until('Initialized');
    const options = {
      minIntervalMs: 1_000,
      defaultProvider: 'kubernetes',
      skipsAnalysis: false,
      isFirst: false,
    };
    const flight = flightPlanOf(model.canary, options);

    model.commit('b', GOOD);
    const beganMs = model.nowMs;
    const seen: number[] = [];
    for (let count = 0; count < 2_000 && model.status.phase !== 'Succeeded'; count += 1) {
      model.tick(tickMs);
      const weight = model.route?.canaryWeight ?? 0;
      if (model.status.phase === 'Progressing' && weight !== seen.at(-1)) seen.push(weight);
    }

    expect(model.status.lastKnownGood?.digest).toBe('b');
    const foretold = flight.steps.map(({ weight }) => weight);
    expect(seen.filter((weight) => weight > 0)).toEqual(
      [...new Set(foretold)].filter((weight) => weight > 0),
    );
    const tookMs = model.nowMs - beganMs;
    expect(tookMs).toBeGreaterThanOrEqual(flight.shortestMs);
    expect(tookMs).toBeLessThanOrEqual(flight.shortestMs + podsMs + tickMs * (foretold.length + checks));
  });
});
