import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { healthOf } from './health.ts';

const versions: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  DaemonSet: 'apps/v1',
  ReplicaSet: 'apps/v1',
  Job: 'batch/v1',
  CustomResourceDefinition: 'apiextensions.k8s.io/v1',
  Widget: 'example.com/v1',
};

function object(kind: string, content: Record<string, unknown> = {}, annotations = {}): KubernetesObject {
  return {
    apiVersion: versions[kind] ?? 'v1',
    kind,
    metadata: { name: 'a', namespace: 'shop', generation: 2, annotations },
    ...content,
  };
}

const condition = (type: string, status: string, more = {}) => ({ conditions: [{ type, status, ...more }] });
const done = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2 };
const nodes = {
  observedGeneration: 2,
  desiredNumberScheduled: 2,
  currentNumberScheduled: 2,
  updatedNumberScheduled: 2,
  numberAvailable: 2,
};

function health(live: KubernetesObject): string {
  const found = healthOf(live, live);
  return found.kind === 'healthy' ? 'healthy' : `${found.kind} ${found.why}`;
}

it('is judged by its group, too: others have kinds of the same names', () => {
  const knative = {
    ...object('Service', { status: condition('Ready', 'False') }),
    apiVersion: 'serving.knative.dev/v1',
  };
  const volcano = {
    ...object('Job', { status: { state: { phase: 'Completed' } } }),
    apiVersion: 'batch.volcano.sh/v1alpha1',
  };
  expect([knative, volcano].map(health)).toEqual(['progressing Service shop/a: not ready', 'healthy']);
});

describe('an object works', () => {
  it.each<[string, KubernetesObject]>([
    ['without anything to tell', object('ConfigMap')],
    ['a Deployment with all pods', object('Deployment', { spec: { replicas: 2 }, status: done })],
    [
      'a Deployment that wants none',
      object('Deployment', { spec: { replicas: 0 }, status: { observedGeneration: 2 } }),
    ],
    [
      'a StatefulSet above its partition',
      object('StatefulSet', {
        spec: { replicas: 2, updateStrategy: { rollingUpdate: { partition: 1 } } },
        status: { ...done, updatedReplicas: 1 },
      }),
    ],
    [
      'a ReplicaSet with all pods',
      object('ReplicaSet', {
        spec: { replicas: 2 },
        status: { observedGeneration: 2, replicas: 2, availableReplicas: 2 },
      }),
    ],
    ['a DaemonSet on all nodes', object('DaemonSet', { status: nodes })],
    ['a complete Job', object('Job', { status: condition('Complete', 'True') })],
    ['a suspended Job', object('Job', { spec: { suspend: true } })],
    ['an established kind', object('CustomResourceDefinition', { status: condition('Established', 'True') })],
    [
      'a claim that waits for its first pod',
      object('PersistentVolumeClaim', { status: { phase: 'Pending' } }),
    ],
    ['a Service in the cluster', object('Service', { spec: { type: 'ClusterIP' } })],
    ['a custom object that is Ready', object('Widget', { status: condition('Ready', 'True') })],
    ['one that is not waited for', object('Job', {}, { 'holdfast.dev/healthy-when': 'none' })],
    [
      'the same in the words of Argo CD',
      object('Job', {}, { 'argocd.argoproj.io/ignore-healthcheck': 'true' }),
    ],
    [
      'one whose own conditions hold',
      object(
        'Widget',
        {
          status: {
            conditions: [
              { type: 'Synced', status: 'True' },
              { type: 'Degraded', status: 'False' },
            ],
          },
        },
        { 'holdfast.dev/healthy-when': 'Synced, Degraded=False' },
      ),
    ],
  ])('%s', (_, live) => {
    expect(health(live)).toBe('healthy');
  });

  it.each<[string, KubernetesObject, string]>([
    [
      'an old look',
      object('Widget', { status: { observedGeneration: 1 } }),
      'progressing Widget shop/a: its controller',
    ],
    ['no look at all', object('Deployment', { status: {} }), 'progressing Deployment shop/a: its controller'],
    [
      'old pods',
      object('Deployment', { spec: { replicas: 2 }, status: { ...done, updatedReplicas: 1 } }),
      'progressing Deployment shop/a: 1 of 2',
    ],
    [
      'pods that are left',
      object('Deployment', { spec: { replicas: 2 }, status: { ...done, replicas: 3 } }),
      'progressing Deployment shop/a: 1 pods of an older',
    ],
    [
      'pods that are not available',
      object('DaemonSet', { status: { ...nodes, numberAvailable: 1 } }),
      'progressing DaemonSet shop/a: 1 of 2',
    ],
    [
      'pods of a ReplicaSet or ReplicationController that are not available',
      object('ReplicationController', {
        spec: { replicas: 2 },
        status: { observedGeneration: 2, replicas: 2 },
      }),
      'progressing ReplicationController shop/a: 0 of 2',
    ],
    [
      'a deadline',
      object('Deployment', {
        status: { ...done, ...condition('Progressing', 'False', { reason: 'ProgressDeadlineExceeded' }) },
      }),
      'failed',
    ],
    [
      'a failed Job',
      object('Job', { status: condition('Failed', 'True', { message: 'too many\n  pods failed' }) }),
      'failed Job shop/a: the Job failed: too many pods failed',
    ],
    [
      'a kind whose name is taken',
      object('CustomResourceDefinition', { status: condition('NamesAccepted', 'False') }),
      'failed',
    ],
    ['no address', object('Service', { spec: { type: 'LoadBalancer' } }), 'progressing'],
    [
      'a stalled object',
      object('Widget', { status: condition('Stalled', 'True', { reason: 'Broken' }) }),
      'failed Widget shop/a: stalled: Broken',
    ],
    ['one that is not Ready', object('Widget', { status: condition('Ready', 'False') }), 'progressing'],
    [
      'a condition of its own',
      object('Widget', {}, { 'holdfast.dev/healthy-when': 'Synced' }),
      'progressing Widget shop/a: has no condition Synced',
    ],
  ])('not with %s', (_, live, why) => {
    expect(health(live)).toContain(why);
  });

  it.each<[string, object]>([
    ['a controller that has not seen the last change', { generation: 3 }],
    ['a deletion', { deletionTimestamp: '2026-01-01T00:00:00Z' }],
  ])('not by a condition of its own that stands since before %s', (_, metadata) => {
    const annotations = { 'holdfast.dev/healthy-when': 'Synced' };
    const widget = object('Widget', { status: { observedGeneration: 2, ...condition('Synced', 'True') } });
    const live = { ...widget, metadata: { ...widget.metadata, annotations, ...metadata } };
    expect(healthOf(live, live).kind).toBe('progressing');
  });

  it('not while it is deleted or gone', () => {
    const wanted = object('ConfigMap');
    const going = { ...wanted, metadata: { ...wanted.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(healthOf(wanted, going).kind).toBe('progressing');
    expect(healthOf(wanted, undefined)).toEqual({
      kind: 'progressing',
      why: 'ConfigMap shop/a does not exist',
    });
  });
});
