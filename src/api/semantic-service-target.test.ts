import { describe, expect, it } from 'vitest';
import type { CanarySpec } from './canary.ts';
import { checkCanary } from './semantic.ts';

const gatewayRefs = [{ name: 'public' }];

function problemsOf(more: Partial<CanarySpec> = {}, defaultProvider = 'kubernetes') {
  const spec: CanarySpec = {
    targetRef: { apiVersion: 'v1', kind: 'Service', name: 'pay' },
    provider: 'contour',
    service: { port: 80 },
    analysis: { interval: '1m', threshold: 3, stepWeight: 10 },
    ...more,
  };
  const canary = {
    apiVersion: 'flagger.app/v1beta1' as const,
    kind: 'Canary' as const,
    metadata: { name: 'pay' },
    spec,
  };
  return checkCanary(canary, { defaultProvider }).problems.map(({ path }) => path);
}

describe('a Service as target', () => {
  it('is fine behind a route, under its own name', () => {
    expect(problemsOf()).toEqual([]);
    expect(problemsOf({ service: { name: 'pay', port: 80 } })).toEqual([]);
    expect(problemsOf({ provider: 'gatewayapi:v1', service: { port: 80, gatewayRefs } })).toEqual([]);
  });

  it.each([
    ['provider kubernetes', { provider: 'kubernetes' as const }, 'spec.provider'],
    ['no route at all', { provider: undefined }, 'spec.provider'],
    ['another name for routes and copies', { service: { name: 'shop', port: 80 } }, 'spec.service.name'],
    ['no port', { service: undefined }, 'spec.service.port'],
    [
      'a Service of neither Kubernetes nor Knative',
      { targetRef: { apiVersion: 'example.com/v1', kind: 'Service' as const, name: 'pay' } },
      'spec.targetRef.apiVersion',
    ],
  ])('cannot be rolled out with %s', (_, spec, path) => {
    expect(problemsOf(spec)).toEqual([path]);
  });

  it('has no names of pods for the built-in metrics of Gateway API', () => {
    const metrics = [{ name: 'request-success-rate', thresholdRange: { min: 99 } }];
    const analysis = { interval: '1m', threshold: 3, stepWeight: 10, metrics };
    const spec = { provider: 'gatewayapi:v1' as const, service: { port: 80, gatewayRefs }, analysis };

    expect(problemsOf(spec)).toEqual(['spec.analysis.metrics[0].name']);
    expect(problemsOf({ analysis })).toEqual([]);
  });
});
