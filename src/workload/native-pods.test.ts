import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { nativeDaemonSet } from './daemonset/daemonset.ts';
import { nativeDeployment } from './deployment/deployment.ts';
import { revisionPods } from './native-pods.ts';
import { nativeStatefulSet } from './statefulset/statefulset.ts';

const revision = 'deployment.kubernetes.io/revision';

function object(kind: string, name: string, owner: string, more: Partial<KubernetesObject['metadata']> = {}) {
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'any', name: owner, uid: owner, controller: true }];
  return { apiVersion: 'v1', kind, metadata: { name, uid: name, ownerReferences, ...more } };
}

function set(name: string, number: string): KubernetesObject {
  const labels = { 'pod-template-hash': name.slice(4) };
  return object('ReplicaSet', name, 'd', { annotations: { [revision]: number }, labels });
}

function look(annotations: Record<string, string>, observedGeneration = 1) {
  const workload = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', uid: 'd', generation: 1, annotations: { [revision]: '3', ...annotations } },
    status: { observedGeneration },
  };
  const replicaSets = [set('web-1aa', '1'), set('web-2bb', '2'), set('web-3cc', '3')];
  const pods = [object('Pod', 'web-2bb-x', 'web-2bb'), object('Pod', 'web-3cc-y', 'web-3cc')];
  return revisionPods(nativeDeployment, {
    workload,
    replicaSets,
    pods,
    controllerRevisions: [],
    service: undefined,
  });
}

describe('pods of a revision', () => {
  it('of a Deployment are found by their ReplicaSets, older ones by those that have pods', () => {
    expect(look({ 'holdfast.dev/promoted': 'p', 'holdfast.dev/share': '20' })).toEqual({
      pods: 'web-3cc-[0-9a-z]+',
      otherPods: 'web-2bb-[0-9a-z]+',
      label: { key: 'pod-template-hash', value: '3cc' },
    });
  });

  it('of a Deployment are listed where Kubernetes cuts their names behind that of the ReplicaSet', () => {
    const name = 'a'.repeat(50);
    const [older, newer] = [`${name}-5c9f7bd9dc`, `${name}-6d5b2448f9`];
    const workload = {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', status: { observedGeneration: 1 } },
      metadata: { name, uid: 'd', generation: 1, annotations: { [revision]: '2' } },
    };
    const replicaSets = [
      object('ReplicaSet', older, 'd', { annotations: { [revision]: '1' } }),
      object('ReplicaSet', newer, 'd', { annotations: { [revision]: '2' } }),
    ];
    const pods = [older, newer].map((set) => object('Pod', `${`${set}-`.slice(0, 58)}x7k2p`, set));

    const found = revisionPods(nativeDeployment, {
      ...{ workload, replicaSets, pods, controllerRevisions: [], service: undefined },
    });

    const matches = [found.pods, found.otherPods].map((pattern) =>
      pods.map(({ metadata }) => new RegExp(`^(?:${pattern})$`).test(metadata.name)),
    );
    expect(matches).toEqual([
      [false, true],
      [true, false],
    ]);
  });

  it('are none before the first step, and before the controller has looked', () => {
    const both = 'web-(2bb|3cc)-[0-9a-z]+';
    const none = { pods: '-', otherPods: both, label: undefined };
    expect(look({ 'holdfast.dev/promoted': 'p', 'holdfast.dev/share': '0' })).toEqual(none);
    expect(look({}, 0)).toEqual(none);
  });

  it('of a DaemonSet fit into a query on thousands of nodes', () => {
    const name = 'fluent-bit-logging-agent';
    const labels = { 'controller-revision-hash': 'one' };
    const workload = {
      ...{ apiVersion: 'apps/v1', kind: 'DaemonSet', status: { observedGeneration: 1 } },
      metadata: { name, uid: 'd', generation: 1 },
    };
    const pods = Array.from({ length: 4_000 }, (_, index) =>
      object('Pod', `${name}-${String(index).padStart(5, '0')}`, 'd', { labels }),
    );

    const { otherPods } = revisionPods(nativeDaemonSet, {
      ...{ workload, pods, replicaSets: [], controllerRevisions: [], service: undefined },
    });

    expect(otherPods.length).toBeLessThan(32_768);
    const pattern = new RegExp(`^(?:${otherPods})$`);
    expect(pods.filter(({ metadata }) => !pattern.test(metadata.name))).toEqual([]);
    expect(pattern.test(`${name}-04000`)).toBe(false);
  });

  it('of a StatefulSet are listed, since their names do not contain the revision', () => {
    const workload = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db', uid: 's', generation: 1 },
      status: { observedGeneration: 1, updateRevision: 'db-2' },
    };
    const pods = [0, 1, 2].map((ordinal) =>
      object('Pod', `db-${ordinal}`, 's', {
        labels: { 'controller-revision-hash': ordinal > 1 ? 'db-2' : 'db-1' },
      }),
    );
    expect(
      revisionPods(nativeStatefulSet, {
        workload,
        pods,
        replicaSets: [],
        controllerRevisions: [],
        service: undefined,
      }),
    ).toEqual({
      pods: 'db-2',
      otherPods: 'db-(0|1)',
      label: { key: 'controller-revision-hash', value: 'db-2' },
    });
  });
});
