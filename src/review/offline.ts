/** What a Source means where no cluster is asked. */
import type { Source } from '../api/source/source.ts';
import type { Variables } from '../render/substitute/expand.ts';

/** Those that the Source itself holds; where the cluster holds more of them, nothing can be filled in here. */
export function variablesIn({ spec }: Source): Variables | undefined {
  const { variables = {}, from = [], strict = false } = spec.substitute ?? {};
  const values = new Map(Object.entries(variables));
  return (values.size > 0 || strict) && from.length === 0 ? { values, strict } : undefined;
}

/** Stands for the Source that will follow a folder. */
export function sourceForPath(path: string): Source {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'source', namespace: 'default' },
    spec: { url: 'https://git.example.com/source.git', ref: { branch: 'main' }, path },
  };
}

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
