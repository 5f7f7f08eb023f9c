import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { nativeDeployment } from './deployment/deployment.ts';
import { viewNative } from './native-view.ts';

interface Seen {
  readonly marks?: Record<string, string>;
  readonly held?: [surge: string, unavailable: string];
  readonly status: Record<string, number>;
  /** Ready pods of the current template. */
  readonly ready?: number;
}

function look({ marks = {}, held, status, ready = 0 }: Seen) {
  const owner = (kind: string, uid: string) => [
    { apiVersion: 'apps/v1', kind, name: uid, uid, controller: true },
  ];
  const metadata = { name: 'web', namespace: 'shop' };
  const revision = { 'deployment.kubernetes.io/revision': '2' };
  const rollingUpdate = { maxSurge: held?.[0] ?? '25%', maxUnavailable: held?.[1] ?? '25%' };
  const workload = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      ...metadata,
      uid: 'd',
      generation: 1,
      annotations: { 'holdfast.dev/digest': 'new', ...revision, ...marks },
    },
    spec: {
      replicas: 5,
      ...(held ? { minReadySeconds: 31_536_000 } : {}),
      strategy: { type: 'RollingUpdate', rollingUpdate },
      template: { spec: { containers: [{ name: 'app', image: 'web:2' }] } },
    },
    status: { observedGeneration: 1, ...status },
  } as unknown as KubernetesObject;
  const replicaSet = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      ...metadata,
      name: 'web-2',
      uid: 'r',
      annotations: revision,
      ownerReferences: owner('Deployment', 'd'),
    },
  };
  const pods = Array.from({ length: ready }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name: `web-2-${index}`, ownerReferences: owner('ReplicaSet', 'r') },
    spec: { containers: [{ name: 'app', image: 'web:2' }] },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }));
  const { primary, target, route } = viewNative(nativeDeployment, {
    workload,
    pods,
    replicaSets: [replicaSet],
    controllerRevisions: [],
    service: undefined,
  });
  const side = (view: typeof primary) =>
    [view.digest, view.desiredReplicas, view.replicas, view.readyReplicas, view.availableReplicas] as const;
  return {
    primary: side(primary),
    target: side(target),
    weight: route.canaryWeight,
    accepted: route.accepted,
  };
}

const tried = (share: number) => ({ 'holdfast.dev/promoted': 'old', 'holdfast.dev/share': String(share) });

describe('viewNative', () => {
  it('shows a workload without a release as a primary with everything and a canary at rest', () => {
    const status = { replicas: 5, updatedReplicas: 5, readyReplicas: 5, availableReplicas: 5 };
    expect(look({ status, ready: 5 })).toEqual({
      primary: ['new', 5, 5, 5, 5],
      target: ['new', 0, 0, 0, 0],
      weight: 0,
      accepted: true,
    });
  });

  it('shows a template without a pod as a canary at rest next to the old release', () => {
    const status = { replicas: 5, readyReplicas: 5, availableReplicas: 5 };
    expect(look({ marks: tried(0), held: ['1%', '0%'], status })).toEqual({
      primary: ['old', 5, 5, 5, 5],
      target: ['new', 0, 0, 0, 0],
      weight: 0,
      accepted: true,
    });
  });

  it('has reached a step with its pods ready and as many old ones gone, and not before', () => {
    const growing = { replicas: 6, updatedReplicas: 1, readyReplicas: 6, availableReplicas: 5 };
    expect(look({ marks: tried(20), held: ['20%', '0%'], status: growing, ready: 1 })).toEqual({
      primary: ['old', 5, 5, 5, 5],
      target: ['new', 1, 1, 1, 1],
      weight: 20,
      accepted: false,
    });
    const reached = { replicas: 5, updatedReplicas: 1, readyReplicas: 5, availableReplicas: 4 };
    expect(look({ marks: tried(20), held: ['0%', '20%'], status: reached, ready: 1 })).toEqual({
      primary: ['old', 4, 4, 4, 4],
      target: ['new', 1, 1, 1, 1],
      weight: 20,
      accepted: true,
    });
  });

  it('misses as many old pods as the controller lets go, which rounds down', () => {
    const scaled = { replicas: 5, updatedReplicas: 1, readyReplicas: 5, availableReplicas: 4 };
    const { primary } = look({ marks: tried(20), held: ['0%', '30%'], status: scaled, ready: 1 });
    expect(primary).toEqual(['old', 4, 4, 4, 4]);
  });

  it('has a share until the last pod of what was left is gone', () => {
    const marks = { 'holdfast.dev/share': '0' };
    const leaving = { replicas: 6, updatedReplicas: 4, readyReplicas: 6, availableReplicas: 4 };
    expect(look({ marks, status: leaving, ready: 4 }).weight).toBe(40);
    const gone = { replicas: 5, updatedReplicas: 5, readyReplicas: 5, availableReplicas: 5 };
    expect(look({ marks, status: gone, ready: 5 }).weight).toBe(0);
  });

  it('has reached nothing once the pause was removed', () => {
    const status = { replicas: 5, updatedReplicas: 1, readyReplicas: 5, availableReplicas: 4 };
    expect(look({ marks: tried(20), status, ready: 1 }).accepted).toBe(false);
  });
});
