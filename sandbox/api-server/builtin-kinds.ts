import type { KindInfo, ScalePaths } from './kinds.ts';
import {
  type MergeNode,
  PLAIN_MERGE,
  POD_MERGE,
  SERVICE_ACCOUNT_MERGE,
  SERVICE_MERGE,
  WORKLOAD_MERGE,
} from './merge-schema.ts';

const SCALE: ScalePaths = {
  replicas: ['spec', 'replicas'],
  statusReplicas: ['status', 'replicas'],
  selector: ['spec', 'selector'],
};

interface Row {
  readonly kind: string;
  readonly plural: string;
  readonly short?: readonly string[];
  readonly cluster?: true;
  readonly status?: true;
  readonly generation?: true;
  readonly scale?: true;
  readonly merge?: MergeNode;
}

const WORKLOAD = { status: true, generation: true, merge: WORKLOAD_MERGE } as const;
const ROUTE = { status: true, generation: true } as const;

const TABLE: Readonly<Record<string, readonly Row[]>> = {
  '/v1': [
    { kind: 'Namespace', plural: 'namespaces', short: ['ns'], cluster: true, status: true },
    { kind: 'Node', plural: 'nodes', short: ['no'], cluster: true, status: true },
    { kind: 'Pod', plural: 'pods', short: ['po'], status: true, generation: true, merge: POD_MERGE },
    { kind: 'Service', plural: 'services', short: ['svc'], status: true, merge: SERVICE_MERGE },
    { kind: 'ConfigMap', plural: 'configmaps', short: ['cm'] },
    { kind: 'Secret', plural: 'secrets' },
    { kind: 'Event', plural: 'events', short: ['ev'] },
    { kind: 'ServiceAccount', plural: 'serviceaccounts', short: ['sa'], merge: SERVICE_ACCOUNT_MERGE },
    { kind: 'ResourceQuota', plural: 'resourcequotas', short: ['quota'], status: true },
  ],
  'apps/v1': [
    { kind: 'Deployment', plural: 'deployments', short: ['deploy'], scale: true, ...WORKLOAD },
    { kind: 'ReplicaSet', plural: 'replicasets', short: ['rs'], scale: true, ...WORKLOAD },
    { kind: 'StatefulSet', plural: 'statefulsets', short: ['sts'], scale: true, ...WORKLOAD },
    { kind: 'DaemonSet', plural: 'daemonsets', short: ['ds'], ...WORKLOAD },
    { kind: 'ControllerRevision', plural: 'controllerrevisions' },
  ],
  'autoscaling/v2': [
    { kind: 'HorizontalPodAutoscaler', plural: 'horizontalpodautoscalers', short: ['hpa'], status: true },
  ],
  'discovery.k8s.io/v1': [{ kind: 'EndpointSlice', plural: 'endpointslices' }],
  'events.k8s.io/v1': [{ kind: 'Event', plural: 'events', short: ['ev'] }],
  'coordination.k8s.io/v1': [{ kind: 'Lease', plural: 'leases' }],
  'policy/v1': [{ kind: 'PodDisruptionBudget', plural: 'poddisruptionbudgets', short: ['pdb'], ...ROUTE }],
  'networking.k8s.io/v1': [{ kind: 'NetworkPolicy', plural: 'networkpolicies', short: ['netpol'] }],
  // Stored only: the sandbox does not evaluate them.
  'admissionregistration.k8s.io/v1': [
    { kind: 'ValidatingAdmissionPolicy', plural: 'validatingadmissionpolicies', cluster: true },
    { kind: 'ValidatingAdmissionPolicyBinding', plural: 'validatingadmissionpolicybindings', cluster: true },
  ],
  'apiextensions.k8s.io/v1': [
    {
      kind: 'CustomResourceDefinition',
      plural: 'customresourcedefinitions',
      short: ['crd'],
      cluster: true,
      ...ROUTE,
    },
  ],
  'authorization.k8s.io/v1': [
    { kind: 'SelfSubjectAccessReview', plural: 'selfsubjectaccessreviews', cluster: true },
    { kind: 'SubjectAccessReview', plural: 'subjectaccessreviews', cluster: true },
  ],
  'authentication.k8s.io/v1': [{ kind: 'TokenReview', plural: 'tokenreviews', cluster: true }],
  'rbac.authorization.k8s.io/v1': [
    { kind: 'Role', plural: 'roles' },
    { kind: 'RoleBinding', plural: 'rolebindings' },
    { kind: 'ClusterRole', plural: 'clusterroles', cluster: true },
    { kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', cluster: true },
  ],
  'gateway.networking.k8s.io/v1': [
    { kind: 'GatewayClass', plural: 'gatewayclasses', short: ['gc'], cluster: true, ...ROUTE },
    { kind: 'Gateway', plural: 'gateways', short: ['gtw'], ...ROUTE },
    { kind: 'HTTPRoute', plural: 'httproutes', ...ROUTE },
  ],
  'projectcontour.io/v1': [{ kind: 'HTTPProxy', plural: 'httpproxies', short: ['proxy'], ...ROUTE }],
};

function fromRow(groupVersion: string, row: Row): KindInfo {
  const [group = '', version = ''] = groupVersion.split('/');
  return {
    group,
    version,
    kind: row.kind,
    plural: row.plural,
    singular: row.kind.toLowerCase(),
    shortNames: row.short ?? [],
    namespaced: row.cluster !== true,
    storageKey: row.kind === 'Event' ? 'events.k8s.io/events' : `${group}/${row.plural}`,
    hasStatus: row.status === true,
    hasGeneration: row.generation === true,
    ...(row.scale ? { scale: SCALE } : {}),
    merge: row.merge ?? PLAIN_MERGE,
  };
}

/** The kinds every sandbox serves from the start. Add a row to serve one more. */
export function builtinKinds(): KindInfo[] {
  return Object.entries(TABLE).flatMap(([groupVersion, rows]) =>
    rows.map((row) => fromRow(groupVersion, row)),
  );
}
