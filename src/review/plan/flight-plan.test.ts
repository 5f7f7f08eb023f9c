import { describe, expect, it } from 'vitest';
import type { Canary } from '../../api/canary/canary.ts';
import { type FlightOptions, flightPlanOf } from './flight-plan.ts';
import type { CanaryPlanned } from './report.ts';
import { canaryWords } from './report-sentences.ts';

const options: FlightOptions = {
  minIntervalMs: 1_000,
  defaultProvider: 'gatewayapi:v1',
  skipsAnalysis: false,
  isFirst: false,
};

function flight(analysis: Record<string, unknown>, spec: Record<string, unknown> = {}, more = {}) {
  const canary = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      service: { port: 80 },
      ...spec,
      analysis: { interval: '10s', threshold: 2, ...analysis },
    },
  } as unknown as Canary;
  return flightPlanOf(canary, { ...options, ...more });
}

const weights = (found: ReturnType<typeof flight>) => found.steps.map(({ weight }) => weight);

describe('a flight plan', () => {
  it.each([
    [{ stepWeight: 20, maxWeight: 50 }, {}, [20, 40, 60]],
    [{ stepWeights: [1, 10, 80] }, {}, [1, 10, 80]],
    [{ iterations: 3, match: [{ headers: { cookie: { exact: 'a' } } }] }, {}, [100, 100, 100]],
    [{ iterations: 2 }, {}, [0, 0, 100]],
    [{ iterations: 2 }, { provider: 'kubernetes' }, [0, 0, 0]],
  ])('has the weights of %o %o', (analysis, spec, expected) => {
    const found = flight(analysis, spec);
    expect(weights(found)).toEqual(expected);
    expect(found.analysisMs).toBe(expected.length * 10_000);
  });

  it('adds up analysis, the way to the primary, and verification with its longest window', () => {
    const found = flight(
      { stepWeight: 50, maxWeight: 100, stepWeightPromotion: 30 },
      { postPromotion: { successThreshold: 3, metrics: [{ name: 'errors', interval: '1m' }] } },
    );
    expect(found).toMatchObject({ analysisMs: 20_000, promotionMs: 30_000, verificationMs: 80_000 });
    expect(found.shortestMs).toBe(130_000);
  });

  it('has no step for the first release, and none where the analysis is skipped', () => {
    const first = flight({ stepWeight: 50 }, {}, { isFirst: true, skipsAnalysis: true });
    expect(first).toMatchObject({
      strategy: 'none',
      isAnalysed: false,
      shortestMs: 0,
      holds: [],
      metrics: [],
    });
    const words = canaryWords({ flight: first } as CanaryPlanned);
    expect(words).toContain('takes at least 0s, plus the time until pods are ready');
    const skipped = flight({ stepWeight: 50 }, { skipAnalysis: true });
    expect(skipped).toMatchObject({ strategy: 'none', analysisMs: 0, verificationMs: 10_000 });
  });

  it('says where no step leads further', () => {
    expect(flight({ stepWeight: 0 }).isStuck).toBe(true);
  });

  it('names gates, hooks and a closed window, and never an address', () => {
    const webhooks = [
      { name: 'ask', type: 'confirm-rollout', url: 'https://x/?token=swordfish', deadline: '1h' },
      { name: 'load', url: 'https://x/' },
      { name: 'note', type: 'event', url: 'https://x/' },
    ];
    const window = { open: false, nextOpeningMs: Date.parse('2026-11-23T07:00:00Z') };
    const { holds } = flight({ stepWeight: 50, webhooks }, {}, { window });
    expect(holds.map(({ name, effect }) => `${name}: ${effect}`)).toEqual([
      'windows of the Source: closed now; the release starts at 2026-11-23T07:00Z',
      'ask (confirm-rollout): the rollout starts once it approves; it fails after 1h',
      'load (rollout): called at every check; a refusal counts as a failed check',
    ]);
    expect(JSON.stringify(holds)).not.toContain('swordfish');
  });

  it.each([
    [1, ['probe (post-promotion)']],
    [0, []],
  ])('names hooks after promotion where %i checks follow it: %j', (successThreshold, names) => {
    const webhooks = [{ name: 'probe', type: 'post-promotion', url: 'https://x/' }];
    const { holds } = flight({ stepWeight: 50 }, { postPromotion: { successThreshold, webhooks } });
    expect(holds.map(({ name }) => name)).toEqual(names);
  });

  it('reports what is measured with its bounds', () => {
    const metrics = [
      { name: 'request-success-rate', threshold: 99 },
      { name: 'latency', thresholdRange: { max: 500 }, interval: '30s' },
    ];
    expect(flight({ stepWeight: 50, metrics }).metrics).toEqual([
      { name: 'request-success-rate', when: 'analysis', min: 99, window: '1m' },
      { name: 'latency', when: 'analysis', max: 500, window: '30s' },
    ]);
  });
});
