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

/** Namespaced kinds of Kubernetes, of the Gateway API and of Contour. */
const namespacedKinds: ReadonlySet<string> = new Set([
  'ConfigMap',
  'ControllerRevision',
  'CronJob',
  'DaemonSet',
  'Deployment',
  'EndpointSlice',
  'Endpoints',
  'GRPCRoute',
  'Gateway',
  'HTTPProxy',
  'HTTPRoute',
  'HorizontalPodAutoscaler',
  'Ingress',
  'Job',
  'Lease',
  'LimitRange',
  'NetworkPolicy',
  'PersistentVolumeClaim',
  'Pod',
  'PodDisruptionBudget',
  'PodTemplate',
  'ReferenceGrant',
  'ReplicaSet',
  'ReplicationController',
  'ResourceQuota',
  'Role',
  'RoleBinding',
  'Secret',
  'Service',
  'ServiceAccount',
  'StatefulSet',
]);

/** Kinds of Kubernetes and of the Gateway API without namespaces. */
const clusterKinds =
  /^(Namespace|Node|PersistentVolume|CustomResourceDefinition|APIService|CSIDriver|CertificateSigningRequest|ClusterRole|ClusterRoleBinding|ClusterTrustBundle|FlowSchema|PriorityLevelConfiguration|(Gateway|Ingress|Priority|Runtime|Storage|VolumeAttributes)Class|(Mutating|Validating)(WebhookConfiguration|AdmissionPolicy|AdmissionPolicyBinding))$/;

/**
 * Whether a kind is namespaced, as far as it is known without a cluster. `perhapsCluster`: by its name alone, as a ClusterIssuer; a ClusterDeployment is
 * not, so that a namespace is neither filled in nor taken away.
 */
export function scopeOf(kind: string): 'namespaced' | 'cluster' | 'perhapsCluster' | 'unknown' {
  if (namespacedKinds.has(kind)) return 'namespaced';
  if (clusterKinds.test(kind)) return 'cluster';
  return /^Cluster./.test(kind) ? 'perhapsCluster' : 'unknown';
}
