import { describe, expect, it } from 'vitest';
import type { CanarySpec } from '../api/canary/canary.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import {
  minReplicasPatch,
  ownScaler,
  pausePatch,
  primaryScaler,
  scalerKindOf,
  scalerSide,
  settleMsOf,
} from './scaler.ts';
import { aCanary } from './shared/fixtures.test-support.ts';

type Reference = NonNullable<CanarySpec['autoscalerRef']>;

function scaled(kind: Reference['kind'], more: Partial<Reference> = {}) {
  const apiVersion = kind === 'ScaledObject' ? 'keda.sh/v1alpha1' : 'autoscaling/v2';
  const canary = aCanary({ autoscalerRef: { apiVersion, kind, name: 'web-scaler', ...more } });
  const found = scalerKindOf(canary.spec);
  if (!found) throw new Error('no such kind of scaler');
  return { canary, kind: found };
}

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' };

function scaler(
  kind: Reference['kind'],
  spec: object,
  annotations: Record<string, string> = {},
): KubernetesObject {
  return {
    apiVersion: kind === 'ScaledObject' ? 'keda.sh/v1alpha1' : 'autoscaling/v2',
    kind,
    metadata: {
      name: 'web-scaler',
      namespace: 'shop',
      labels: { team: 'store', 'kustomize.toolkit.fluxcd.io/name': 'shop' },
      annotations,
    },
    spec: { scaleTargetRef, ...spec },
  };
}

describe('a HorizontalPodAutoscaler', () => {
  const { canary, kind } = scaled('HorizontalPodAutoscaler');
  const metrics = [
    { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
  ];
  const source = scaler('HorizontalPodAutoscaler', {
    minReplicas: 2,
    maxReplicas: 9,
    metrics,
    behavior: { scaleDown: {} },
  });

  it('gets a copy for the primary with its metrics, behavior and bounds', () => {
    const primary = primaryScaler(kind, canary, { source, live: undefined });
    expect(primary.metadata).toMatchObject({
      name: 'web-scaler-primary',
      namespace: 'shop',
      ownerReferences: [{ kind: 'Canary', name: 'podinfo', controller: true }],
    });
    expect(primary.metadata.labels).toMatchObject({ team: 'store' });
    expect(primary.metadata.labels).not.toHaveProperty(['kustomize.toolkit.fluxcd.io/name']);
    expect(primary.spec).toEqual({
      scaleTargetRef: { ...scaleTargetRef, name: 'podinfo-primary' },
      minReplicas: 2,
      maxReplicas: 9,
      metrics,
      behavior: { scaleDown: {} },
    });
  });

  it('has the bounds of primaryScalerReplicas on the primary', () => {
    const bounded = scaled('HorizontalPodAutoscaler', {
      primaryScalerReplicas: { minReplicas: 4, maxReplicas: 20 },
    });
    const primary = primaryScaler(kind, bounded.canary, { source, live: undefined });
    expect(primary.spec).toMatchObject({ minReplicas: 4, maxReplicas: 20 });
  });

  it('is refused with bounds on the primary that cannot be', () => {
    const { canary: other } = scaled('HorizontalPodAutoscaler', {
      primaryScalerReplicas: { minReplicas: 20 },
    });
    expect(() => primaryScaler(kind, other, { source, live: undefined })).toThrow(
      'Canary shop/podinfo: spec.autoscalerRef.primaryScalerReplicas: the primary would have at least 20 and at most 9 pods',
    );
  });

  it('gets the default back if the saved value is invalid', () => {
    const raised = scaler(
      'HorizontalPodAutoscaler',
      { minReplicas: 7, maxReplicas: 9 },
      { 'holdfast.dev/min-replicas': 'seven' },
    );
    expect(minReplicasPatch(kind, raised, undefined)).toMatchObject({ spec: { minReplicas: 1 } });
  });

  it('is written with its minimum spelled out', () => {
    const { spec } = ownScaler(kind, canary, scaler('HorizontalPodAutoscaler', { maxReplicas: 9 }));
    expect(spec).toMatchObject({ minReplicas: 1, maxReplicas: 9 });
  });

  it('is written on both sides without fields of no value, for which the API server has its own', () => {
    const empty = scaler('HorizontalPodAutoscaler', { maxReplicas: 9, metrics: null, behavior: null });
    const primary = primaryScaler(kind, canary, { source: empty, live: undefined });
    expect(primary.spec).toEqual({
      ...{ minReplicas: 1, maxReplicas: 9 },
      scaleTargetRef: { ...scaleTargetRef, name: 'podinfo-primary' },
    });
    expect(ownScaler(kind, canary, empty).spec).toEqual({ minReplicas: 1, maxReplicas: 9, scaleTargetRef });
  });

  it('is raised with the former value saved, and restored from there', () => {
    expect(minReplicasPatch(kind, source, 7)).toEqual({
      metadata: { annotations: { 'holdfast.dev/min-replicas': '2' } },
      spec: { minReplicas: 7 },
    });
    const raised = scaler(
      'HorizontalPodAutoscaler',
      { minReplicas: 7, maxReplicas: 9 },
      { 'holdfast.dev/min-replicas': '2' },
    );
    expect(scalerSide(kind, raised)).toEqual({
      minReplicas: 7,
      maxReplicas: 9,
      restoreMinReplicas: 2,
      paused: false,
    });
    expect(minReplicasPatch(kind, raised, 8)).toMatchObject({
      metadata: { annotations: { 'holdfast.dev/min-replicas': '2' } },
      spec: { minReplicas: 8 },
    });
    expect(minReplicasPatch(kind, raised, undefined)).toEqual({
      metadata: { annotations: { 'holdfast.dev/min-replicas': null } },
      spec: { minReplicas: 2 },
    });
    expect(minReplicasPatch(kind, raised, 7)).toBeUndefined();
    expect(minReplicasPatch(kind, source, undefined)).toBeUndefined();
  });

  it('is copied with the bounds it has without the rollout', () => {
    const raised = scaler(
      'HorizontalPodAutoscaler',
      { minReplicas: 7, maxReplicas: 9 },
      { 'holdfast.dev/min-replicas': '2' },
    );
    const primary = primaryScaler(kind, canary, { source: raised, live: undefined });
    expect(primary.spec).toMatchObject({ minReplicas: 2 });
    expect(primary.metadata.annotations).not.toHaveProperty(['holdfast.dev/min-replicas']);
  });

  it.each([
    [
      'of another workload',
      {
        ...source,
        spec: { ...(source.spec as object), scaleTargetRef: { ...scaleTargetRef, name: 'other' } },
      },
      'spec.scaleTargetRef.name',
    ],
    ['of another version', { ...source, apiVersion: 'autoscaling/v1' }, 'apiVersion'],
  ])('is refused when it is one %s', (_, other, field) => {
    const refusal = expect.objectContaining({ reason: 'TargetInvalid', field });
    expect(() => primaryScaler(kind, canary, { source: other, live: undefined })).toThrow(
      expect.objectContaining({ refusal }),
    );
  });

  it('is none for a DaemonSet, which has no number of pods', () => {
    expect(scalerKindOf({ ...canary.spec, targetRef: { kind: 'DaemonSet' } })).toBeUndefined();
  });
});

describe('a ScaledObject', () => {
  const { canary, kind } = scaled('ScaledObject');
  const query =
    'sum(rate(http_requests_total{app="podinfo"}[1m])) + sum(x{pod=~"podinfo-canary-.*"}) + sum(y{app="podinfo-primary"})';
  const source = scaler(
    'ScaledObject',
    {
      pollingInterval: 10,
      maxReplicaCount: 6,
      advanced: { horizontalPodAutoscalerConfig: { name: 'web-hpa', behavior: {} } },
      triggers: [{ type: 'prometheus', name: 'load', metadata: { query, threshold: '5' } }],
    },
    { 'autoscaling.keda.sh/paused-replicas': '0', 'scaledobject.keda.sh/transfer-hpa-ownership': 'true' },
  );
  const specOf = (object: KubernetesObject) =>
    object.spec as { triggers: Array<{ metadata: { query: string } }>; advanced: unknown };

  it('gets a copy for the primary whose queries are about the primary', () => {
    const primary = primaryScaler(kind, canary, { source, live: undefined });
    expect(specOf(primary).triggers[0]?.metadata.query).toBe(
      'sum(rate(http_requests_total{app="podinfo-primary"}[1m])) + sum(x{pod=~"podinfo-primary-.*"}) + sum(y{app="podinfo-primary"})',
    );
    expect(specOf(primary).advanced).toEqual({
      horizontalPodAutoscalerConfig: { name: 'web-hpa-primary', behavior: {} },
    });
    expect(primary.spec).toMatchObject({ pollingInterval: 10, minReplicaCount: 0, maxReplicaCount: 6 });
  });

  it('never hands its pause on to the primary (flagger issue 1934)', () => {
    const { annotations } = primaryScaler(kind, canary, { source, live: undefined }).metadata;
    expect(annotations).not.toHaveProperty(['autoscaling.keda.sh/paused-replicas']);
    expect(annotations).toMatchObject({ 'scaledobject.keda.sh/transfer-hpa-ownership': 'true' });
  });

  it('takes the queries of primaryScalerQueries by the name of the trigger, and then no other is changed', () => {
    const named = scaled('ScaledObject', { primaryScalerQueries: { load: 'vector(1)' } }).canary;
    expect(specOf(primaryScaler(kind, named, { source, live: undefined })).triggers[0]?.metadata.query).toBe(
      'vector(1)',
    );
    const cron = { type: 'cron', name: 'load', metadata: { timezone: 'UTC' } };
    const without = scaler('ScaledObject', { triggers: [cron] });
    expect(specOf(primaryScaler(kind, named, { source: without, live: undefined })).triggers).toEqual([
      { ...cron, metadata: { timezone: 'UTC', query: 'vector(1)' } },
    ]);
    const other = scaled('ScaledObject', { primaryScalerQueries: { other: 'vector(1)' } }).canary;
    expect(specOf(primaryScaler(kind, other, { source, live: undefined })).triggers[0]?.metadata.query).toBe(
      query,
    );
  });

  it('keeps longer words that hold the name of the target, and all other metadata', () => {
    const metadata = { query: 'rate(podinfo_requests{app="podinfo"}[1m])', serverAddress: 'http://podinfo' };
    const object = scaler('ScaledObject', { triggers: [{ type: 'prometheus', metadata }] });
    expect(specOf(primaryScaler(kind, canary, { source: object, live: undefined })).triggers).toEqual([
      {
        type: 'prometheus',
        metadata: { ...metadata, query: 'rate(podinfo_requests{app="podinfo-primary"}[1m])' },
      },
    ]);
  });

  it('is trusted to have seen a load after a minute, or after the time of its annotation', () => {
    const settling = (text: string) =>
      settleMsOf(scaler('ScaledObject', {}, { 'holdfast.dev/settle-time': text }));
    expect(settleMsOf(source)).toBe(60_000);
    expect(settling('90s')).toBe(90_000);
    expect(settling('soon')).toBe(60_000);
    expect(settling('9h')).toBe(600_000);
  });

  it('is paused and resumed by its annotation', () => {
    expect(scalerSide(kind, source)?.paused).toBe(true);
    expect(pausePatch(source, true)).toBeUndefined();
    expect(pausePatch(source, false)).toEqual({
      metadata: { annotations: { 'autoscaling.keda.sh/paused-replicas': null } },
    });
  });

  it.each(['paused', 'paused-scale-out'])('that somebody has %s is told by its annotation', (word) => {
    const name = `autoscaling.keda.sh/${word}`;
    expect(scalerSide(kind, scaler('ScaledObject', {}, { [name]: 'true' }))?.heldBy).toBe(name);
    expect(scalerSide(kind, scaler('ScaledObject', {}, { [name]: 'false' }))?.heldBy).toBeUndefined();
  });

  it('may go to zero by its idleReplicaCount, which gives way while it is raised and comes back', () => {
    const bounds = { minReplicaCount: 3, maxReplicaCount: 6 };
    const idle = scaler('ScaledObject', { ...bounds, idleReplicaCount: 0 });
    const saved = { 'holdfast.dev/min-replicas': '3', 'holdfast.dev/idle-replicas': '0' };
    const raised = scaler('ScaledObject', bounds, saved);

    expect(scalerSide(kind, idle)).toMatchObject({ minReplicas: 0, restoreMinReplicas: undefined });
    expect(minReplicasPatch(kind, idle, 1)).toEqual({
      metadata: { annotations: saved },
      spec: { minReplicaCount: 3, idleReplicaCount: null },
    });
    expect(scalerSide(kind, raised)).toMatchObject({ minReplicas: 3, restoreMinReplicas: 0 });
    expect(minReplicasPatch(kind, raised, 5)).toEqual({
      metadata: { annotations: { 'holdfast.dev/min-replicas': '3' } },
      spec: { minReplicaCount: 5 },
    });
    expect(minReplicasPatch(kind, raised, undefined)).toEqual({
      metadata: { annotations: { 'holdfast.dev/min-replicas': null, 'holdfast.dev/idle-replicas': null } },
      spec: { minReplicaCount: 3, idleReplicaCount: 0 },
    });
    expect(primaryScaler(kind, canary, { source: raised, live: undefined }).spec).toMatchObject({
      minReplicaCount: 3,
      idleReplicaCount: 0,
    });
  });

  it('is raised by minReplicaCount', () => {
    expect(minReplicasPatch(kind, source, 3)).toEqual({
      metadata: { annotations: { 'holdfast.dev/min-replicas': '0' } },
      spec: { minReplicaCount: 3 },
    });
  });
});
