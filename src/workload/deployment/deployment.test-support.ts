import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { DriftView, WorkloadView } from '../../health/workload-view.ts';
import { primaryObjects } from '../kinds.ts';
import type { ContainerStatus, Pod } from '../pods/pods.ts';
import { aPrimarySource } from '../shared/fixtures.test-support.ts';
import type { ViewSource } from '../shared/workload-kind.ts';
import { viewDeployment } from './deployment.ts';

interface Live {
  generation?: number;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  managedFields?: object[];
}

/** The primary as it is applied. */
const wanted = primaryObjects(aPrimarySource()).workload;

/** The primary as the API server and its controller hold it: three pods, all well, unless said otherwise. */
export function aDeployment({
  generation = 4,
  spec = {},
  status = {},
  managedFields,
}: Live = {}): KubernetesObject {
  return {
    ...wanted,
    metadata: {
      ...wanted.metadata,
      annotations: { ...wanted.metadata.annotations, 'deployment.kubernetes.io/revision': '2' },
      uid: 'primary-uid',
      resourceVersion: '42',
      generation,
      managedFields,
    },
    spec: { ...(wanted.spec as object), ...spec },
    status: {
      observedGeneration: 4,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      ...status,
    },
  };
}

/** A ReplicaSet of that primary, as a watch of metadata shows it. */
function aReplicaSet(hash: string, revision: string): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `podinfo-primary-${hash}`,
      namespace: 'shop',
      uid: hash,
      annotations: { 'deployment.kubernetes.io/revision': revision },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          name: 'podinfo-primary',
          uid: 'primary-uid',
          controller: true,
        },
      ],
    },
  };
}

/** Of the current template, and of the one before. */
const replicaSets = [aReplicaSet('new', '2'), aReplicaSet('old', '1')];

/** The view of it, with its ReplicaSets. */
export function viewOf(
  source: Pick<ViewSource, 'workload' | 'pods'> & Partial<ViewSource>,
): Omit<WorkloadView, keyof DriftView> {
  return viewDeployment({ replicaSets, controllerRevisions: [], service: undefined, ...source });
}

interface PodChanges {
  name?: string;
  hash?: string;
  image?: string;
  spec?: object;
  status?: Pod['status'];
  ready?: boolean;
  deleted?: boolean;
}

/** A pod of that primary as a kubelet reports it, with what admission adds. */
export function aPod(changes: PodChanges = {}): KubernetesObject {
  const {
    name = 'podinfo-primary-new-1',
    hash = 'new',
    image = 'example.com/podinfo:6.0.0',
    ready = true,
  } = changes;
  const { template } = wanted.spec as {
    template: { metadata: { labels: object; annotations: object }; spec: object };
  };
  const [container] = (template.spec as { containers: object[] }).containers;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'shop',
      ...(changes.deleted ? { deletionTimestamp: '2026-01-01T00:01:00Z' } : {}),
      labels: { ...template.metadata.labels, 'pod-template-hash': hash },
      annotations: { ...template.metadata.annotations, injected: 'yes' },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `podinfo-primary-${hash}`,
          uid: hash,
          controller: true,
        },
      ],
    },
    spec: {
      ...template.spec,
      containers: [
        { ...container, image, volumeMounts: [{ name: 'token', mountPath: '/var/run/secrets' }] },
        { name: 'proxy', image: 'example.com/proxy:1' },
      ],
      nodeName: 'node-1',
      tolerations: [{ key: 'node.kubernetes.io/not-ready' }],
      ...changes.spec,
    },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      ...changes.status,
    },
  };
}

/** The status of a pod whose container is in this state. */
export function containerStatus(
  state: ContainerStatus['state'],
  more: Partial<ContainerStatus> = {},
): Pod['status'] {
  return { containerStatuses: [{ name: 'podinfod', ready: false, state: state ?? {}, ...more }] };
}
