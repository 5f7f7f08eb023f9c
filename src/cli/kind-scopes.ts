/** Kinds of Kubernetes' own that live in namespaces. */
const namespacedKinds: ReadonlySet<string> = new Set([
  'ConfigMap',
  'CronJob',
  'DaemonSet',
  'Deployment',
  'Gateway',
  'HTTPProxy',
  'HTTPRoute',
  'HorizontalPodAutoscaler',
  'Ingress',
  'Job',
  'NetworkPolicy',
  'PersistentVolumeClaim',
  'Pod',
  'PodDisruptionBudget',
  'Role',
  'RoleBinding',
  'Secret',
  'Service',
  'ServiceAccount',
  'StatefulSet',
]);

const clusterKinds =
  /^(Namespace|Node|PersistentVolume|CustomResourceDefinition|APIService|GatewayClass|(Cluster|Storage|Priority|Ingress|Runtime).+|.+(WebhookConfiguration|AdmissionPolicy|AdmissionPolicyBinding))$/;

/** Whether objects of a kind live in namespaces, as far as that can be told without a cluster. */
export function scopeOf(kind: string): 'namespaced' | 'cluster' | 'unknown' {
  if (namespacedKinds.has(kind)) return 'namespaced';
  return clusterKinds.test(kind) ? 'cluster' : 'unknown';
}
