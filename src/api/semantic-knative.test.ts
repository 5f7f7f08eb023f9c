import { expect, test } from 'vitest';
import type { Canary } from './canary.ts';
import { checkCanary } from './semantic.ts';

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
