import { expect, test } from 'vitest';
import type { Canary } from './canary.ts';
import { checkCanary } from './semantic.ts';

const problems = (spec: object, forbidsOtherNamespaces = true) =>
  checkCanary(
    {
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        provider: 'kubernetes',
        service: { port: 80 },
        analysis: { interval: '1m', threshold: 1, iterations: 1 },
        ...spec,
      },
    } as unknown as Canary,
    { forbidsOtherNamespaces },
  ).problems.map(({ path }) => path);

function template(namespace: string | undefined): object {
  const analysis = { interval: '1m', threshold: 1, iterations: 1 };
  return {
    analysis: {
      ...analysis,
      metrics: [{ name: 'm', interval: '1m', templateRef: { name: 't', namespace } }],
    },
  };
}

test.each([undefined, '', 'shop'])('a reference to namespace %j stays in the own one', (namespace) => {
  expect(problems(template(namespace))).toEqual([]);
});

test('templates, providers and upstreams elsewhere are named where they are forbidden, and only there', () => {
  const analysis = {
    interval: '1m',
    threshold: 1,
    iterations: 1,
    alerts: [{ name: 'chat', providerRef: { name: 'chat', namespace: 'ops' } }],
  };
  const metrics = [{ name: 'm', interval: '1m', templateRef: { name: 't', namespace: 'ops' } }];
  const upstreamRef = { apiVersion: 'gloo.solo.io/v1', kind: 'Upstream', name: 'u', namespace: 'gloo' };
  const spec = { analysis, postPromotion: { metrics }, upstreamRef };
  expect(problems(spec)).toEqual([
    'spec.upstreamRef.namespace',
    'spec.postPromotion.metrics[0].templateRef.namespace',
    'spec.analysis.alerts[0].providerRef.namespace',
  ]);
  expect(problems(template('ops'))).toEqual(['spec.analysis.metrics[0].templateRef.namespace']);
  expect(problems(spec, false)).toEqual([]);
});
