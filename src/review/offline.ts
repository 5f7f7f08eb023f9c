/** How a Source is read where no cluster is asked. */
import type { Source } from '../api/source/source.ts';
import type { Variables } from '../render/substitute/expand.ts';

/** Variables of the Source itself; where others come from the cluster, none can be substituted here. */
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

/** Namespaced kinds of Kubernetes and of the Gateway API. */
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

/** Whether a kind is namespaced, as far as it is known without a cluster. */
export function scopeOf(kind: string): 'namespaced' | 'cluster' | 'unknown' {
  if (namespacedKinds.has(kind)) return 'namespaced';
  return clusterKinds.test(kind) ? 'cluster' : 'unknown';
}
