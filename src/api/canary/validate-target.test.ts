import { describe, expect, it, test } from 'vitest';
import type { Canary, CanarySpec } from './canary.ts';
import { checkCanary } from './validate.ts';

function pathsOf(spec: Record<string, unknown>, defaultProvider?: string): string[] {
  return problemsIn(spec, defaultProvider).map(({ path }) => path);
}

function problemsIn(spec: Record<string, unknown>, defaultProvider?: string) {
  const canary = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      provider: 'native',
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      analysis: { interval: '10s', threshold: 1, stepWeight: 20, maxWeight: 60 },
      ...spec,
    },
  } as unknown as Canary;
  return checkCanary(canary, defaultProvider ? { defaultProvider } : {}).problems;
}

const analysis = { interval: '10s', threshold: 1, stepWeight: 20, maxWeight: 60 };

describe('a Canary with provider native', () => {
  it('needs no Service', () => {
    expect(pathsOf({})).toEqual([]);
    expect(pathsOf({ provider: undefined }, 'native')).toEqual([]);
  });

  it('steps every kind with pods of its own, and a StatefulSet without a scaler', () => {
    const targetRef = (kind: string) => ({ targetRef: { apiVersion: 'apps/v1', kind, name: 'web' } });
    const autoscalerRef = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', name: 'web' };
    expect(['Deployment', 'StatefulSet', 'DaemonSet'].flatMap((kind) => pathsOf(targetRef(kind)))).toEqual(
      [],
    );
    expect(pathsOf(targetRef('Service'))).toContain('spec.targetRef.kind');
    expect(pathsOf({ ...targetRef('StatefulSet'), autoscalerRef })).toEqual(['spec.autoscalerRef']);
    expect(pathsOf({ autoscalerRef })).toEqual([]);
  });

  it('takes an order of nodes for a DaemonSet alone', () => {
    const withOrder = { analysis: { ...analysis, nodeOrder: { label: 'zone' } } };
    const targetRef = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'web' };
    expect(pathsOf({ ...withOrder, targetRef })).toEqual([]);
    expect(pathsOf(withOrder)).toEqual(['spec.analysis.nodeOrder']);
    expect(pathsOf({ ...withOrder, targetRef, provider: 'kubernetes', service: { port: 80 } })).toEqual([
      'spec.analysis.nodeOrder',
    ]);
  });

  it('is the only one for a StatefulSet, of which no copy can be made', () => {
    const targetRef = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web' };
    expect(pathsOf({ targetRef, provider: 'kubernetes', service: { port: 80 } })).toEqual(['spec.provider']);
  });

  it('has no router and no iterations, and the metrics that every provider has', () => {
    expect(
      pathsOf({ analysis: { ...analysis, match: [{ headers: { x: { exact: 'y' } } }], iterations: 3 } }),
    ).toEqual(['spec.analysis.match', 'spec.analysis.iterations']);
    expect(
      pathsOf({ analysis: { ...analysis, metrics: [{ name: 'request-success-rate', interval: '1m' }] } }),
    ).toEqual([]);
  });

  it('says which Services it does not make', () => {
    const canary = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'Canary',
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        provider: 'native',
        targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        service: { port: 80, primary: { labels: { a: 'b' } } },
        analysis,
      },
    } as unknown as Canary;
    expect(checkCanary(canary).warnings.map(({ path }) => path)).toEqual(['spec.service.primary']);
  });
});

const knative = { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: 'web' };
const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const autoscalerRef = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', name: 'web' };

test.each([
  ['a Knative Service under its provider', { targetRef: knative, provider: 'knative' }, []],
  ['a Knative Service under another one', { targetRef: knative, provider: 'istio' }, ['spec.provider']],
  ['a Knative Service under none', { targetRef: knative }, ['spec.provider']],
  ['a Deployment under knative', { targetRef: deployment, provider: 'knative' }, ['spec.targetRef']],
  [
    'a Knative Service with a scaler',
    { targetRef: knative, provider: 'knative', autoscalerRef },
    ['spec.autoscalerRef'],
  ],
  [
    'a Knative Service under another name',
    { targetRef: knative, provider: 'knative', service: { name: 'shop', port: 80 } },
    ['spec.service.name'],
  ],
  ['a Deployment with a scaler', { targetRef: deployment, provider: 'kubernetes', autoscalerRef }, []],
])('%s', (_what, spec, paths) => {
  const analysis = { interval: '1m', threshold: 1, iterations: 1 };
  const canary = {
    metadata: { name: 'web', namespace: 'shop' },
    spec: { service: { port: 80 }, analysis, ...spec },
  };
  const { problems } = checkCanary(canary as unknown as Canary, { defaultProvider: 'knative' });
  const notYet = 'is valid, but this version cannot act on it yet';
  expect(problems.filter(({ message }) => message !== notYet).map(({ path }) => path)).toEqual(paths);
});

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
    // As in Flagger's own tests.
    expect(problemsOf({ targetRef: { apiVersion: 'core/v1', kind: 'Service', name: 'pay' } })).toEqual([]);
    expect(problemsOf({ provider: 'gatewayapi:v1', service: { port: 80, gatewayRefs } })).toEqual([]);
  });

  it.each([
    ['provider kubernetes', { provider: 'kubernetes' as const }, 'spec.provider'],
    ['no route at all', { provider: undefined }, 'spec.provider'],
    ['another name for routes and copies', { service: { name: 'shop', port: 80 } }, 'spec.service.name'],
    ['no port', { service: undefined }, 'spec.service.port'],
    [
      'a Service of Knative in another version',
      { targetRef: { apiVersion: 'serving.knative.dev/v1beta1', kind: 'Service' as const, name: 'pay' } },
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

describe('the names of the Services that a Canary makes', () => {
  const named = (name: string, more: object = {}) => ({
    provider: 'gatewayapi:v1',
    targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
    service: { port: 80, gatewayRefs: [{ name: 'edge' }], ...more },
  });
  const ofService = (name: string) => ({
    ...named(name),
    targetRef: { apiVersion: 'v1', kind: 'Service', name },
  });

  it.each(['kubernetes', 'gatewayapi:v1', 'istio'])('fit in 63 characters with %s', (provider) => {
    expect(pathsOf({ ...named('a'.repeat(55)), provider })).toEqual([]);
    expect(pathsOf({ ...named('a'.repeat(56)), provider })).toEqual(['spec.targetRef.name']);
    expect(pathsOf({ ...named('a'.repeat(200), { name: 'web' }), provider })).toEqual([]);
    expect(pathsOf({ ...named('web', { name: 'a'.repeat(56) }), provider })).toEqual(['spec.service.name']);
  });

  it('of a workload in place too, where it has one', () => {
    const { targetRef } = named('a'.repeat(57));
    expect(pathsOf({ targetRef })).toEqual([]);
    expect(pathsOf({ targetRef, service: { port: 80 } })).toEqual(['spec.targetRef.name']);
    expect(pathsOf({ ...named('a'.repeat(56)), provider: 'native' })).toEqual([]);
  });

  it('have no dot, which names of workloads may have', () => {
    expect(pathsOf(named('web.v1'))).toEqual(['spec.targetRef.name']);
    expect(pathsOf(named('web.v1', { name: 'web' }))).toEqual([]);
  });

  it('may be longer where Knative makes them', () => {
    const targetRef = { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: 'a'.repeat(63) };
    expect(pathsOf({ provider: 'knative', targetRef, service: { port: 80 } })).toEqual([]);
  });

  it.each<[string, Record<string, unknown>, boolean]>([
    ['a workload', named('web.v1'), true],
    ['a workload, which are given already', named('web', { name: 'web.v1' }), false],
    ['a Service, which they must have', ofService('web.v1'), false],
  ])('are told with the field that gives others, if there is one: of %s', (_, spec, isTold) => {
    const told = problemsIn(spec).filter(({ message }) =>
      message.includes('cannot be the name of a Service'),
    );
    expect(told.map(({ message }) => message.includes('with spec.service.name'))).toEqual([isTold]);
  });
});
