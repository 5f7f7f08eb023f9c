import { describe, expect, it } from 'vitest';
import type { Canary } from '../api/canary.ts';
import { type MetricRole, metricSubject } from './subject.ts';

function namesOf(provider: string, role: MetricRole): readonly string[] {
  const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
  const canary = { metadata: { name: 'shop', namespace: 'shop' }, spec: { provider, targetRef } };
  const { target, service, ownService } = metricSubject(canary as unknown as Canary, role);
  return [target, service, ownService];
}

describe('metricSubject', () => {
  it('names the workload and the Services of the role', () => {
    expect(namesOf('contour', 'canary')).toEqual(['web', 'web', 'web-canary']);
    expect(namesOf('contour', 'primary')).toEqual(['web-primary', 'web-primary', 'web-primary']);
  });

  it('names the one workload of both roles where they share it', () => {
    expect(namesOf('native', 'canary')).toEqual(['web', 'web', 'web']);
    expect(namesOf('native', 'primary')).toEqual(['web', 'web', 'web']);
  });
});
