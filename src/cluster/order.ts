import type { KubernetesObject } from '../api/kubernetes.ts';

/** Kinds in the order in which they are applied: what others need to exist comes first. */
const firstKinds: readonly string[] = [
  'Namespace',
  'CustomResourceDefinition',
  'PriorityClass',
  'StorageClass',
  'RuntimeClass',
  'IngressClass',
  'GatewayClass',
  'ResourceQuota',
  'LimitRange',
  'NetworkPolicy',
  'ServiceAccount',
  'ClusterRole',
  'Role',
  'ClusterRoleBinding',
  'RoleBinding',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'ConfigMap',
  'Secret',
  'Service',
  'Pod',
  'ReplicaSet',
  'DaemonSet',
  'Deployment',
  'StatefulSet',
  'Job',
  'CronJob',
  'PodDisruptionBudget',
  'HorizontalPodAutoscaler',
  'Ingress',
  'APIService',
];

/** They may refuse everything else while their backend is not up yet, so they come after it. */
const lastKinds: readonly string[] = [
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
];

const customRank = firstKinds.length;
const ranks: ReadonlyMap<string, number> = new Map([
  ...firstKinds.map((kind, rank) => [kind, rank] as const),
  ...lastKinds.map((kind, rank) => [kind, customRank + 1 + rank] as const),
]);

/** Comparator for the order of applying; deleting goes the other way round. Custom kinds come after workloads. Ties by namespace, name. */
export function compareForApply(a: KubernetesObject, b: KubernetesObject): number {
  return (
    rankOf(a) - rankOf(b) ||
    compareText(a.kind, b.kind) ||
    compareText(a.metadata.namespace ?? '', b.metadata.namespace ?? '') ||
    compareText(a.metadata.name, b.metadata.name)
  );
}

/** The rank of a kind; a custom resource that shares a built-in's name is custom. */
function rankOf({ apiVersion, kind }: KubernetesObject): number {
  const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
  const builtIn = !group.includes('.') || group.endsWith('.k8s.io');
  return builtIn ? (ranks.get(kind) ?? customRank) : customRank;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
