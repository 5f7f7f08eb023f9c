import { expect, it } from 'vitest';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { peersOf } from './observe.ts';

function canary(name: string, status: CanaryStatus): KubernetesObject {
  return { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata: { namespace: 'shop', name }, status };
}

const time = '2026-03-01T00:00:00Z';
const verifying = canary('own', { postPromotion: { state: 'Verifying' } });
const others = [
  canary('calm', { phase: 'Succeeded' }),
  canary('new', {}),
  canary('also', { postPromotion: { state: 'Verifying' } }),
  canary('together', { postPromotion: { state: 'Held', reason: 'SharedCause' } }),
  canary('pull', { postPromotion: { state: 'Held', reason: 'PrimaryNotReady' } }),
  canary('back', { rejected: [{ digest: 'd', commit: 'c', reason: 'ChecksFailed', time }] }),
  canary('stopped', { rejected: [{ digest: 'd', commit: 'c', reason: 'AnalysisFailed', time }] }),
];

it('counts the others that verify, fail together, or were rejected for their checks', () => {
  expect(peersOf({ list: () => [verifying, ...others] }, verifying)).toEqual({
    verifying: 3,
    failingNow: 1,
    failedTimes: [time],
  });
});

it('counts nothing for a Canary that is at rest', () => {
  const calm = others[0] as KubernetesObject;
  expect(peersOf({ list: () => [verifying, ...others] }, calm)).toEqual({
    verifying: 0,
    failingNow: 0,
    failedTimes: [],
  });
});
