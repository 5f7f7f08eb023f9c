import { describe, expect, it } from 'vitest';
import type { Canary } from './canary.ts';
import { checkCanary } from './semantic.ts';

function pathsOf(spec: Record<string, unknown>, defaultProvider?: string): string[] {
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
  return checkCanary(canary, defaultProvider ? { defaultProvider } : {}).problems.map(({ path }) => path);
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
      ...{ apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata: { name: 'web', namespace: 'shop' } },
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
