import { builtInGates, canaryVerbs } from '../../api/annotations.ts';
import { routers } from '../../providers/routing/table.ts';

/** A verb of Kubernetes' authorisation. The last ones are Holdfast's own: they guard the annotations of the same name. */
type RightVerb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'patch'
  | 'update'
  | 'delete'
  | 'impersonate'
  | HoldfastVerb;

/** Requests that people make by annotation (design section 2.3); each needs the right of its name on the object. */
export const holdfastVerbs = ([...canaryVerbs, ...builtInGates, 'pause', 'sync'] as const).toSorted();

/** One of those requests. */
type HoldfastVerb = (typeof holdfastVerbs)[number];

/** Something Holdfast must be allowed to do. */
export interface Right {
  readonly group: string;
  /** Plural, with `/subresource` where only that is meant. */
  readonly resource: string;
  readonly verbs: readonly RightVerb[];
  /** Only these objects. */
  readonly names?: readonly string[];
  /** What it is for, in words for the administrator who reads the manifest. */
  readonly why: string;
}

const read = ['get', 'list', 'watch'] as const;
const readAndApply = ['get', 'list', 'watch', 'create', 'patch'] as const;
/** Deletion is for what left the repository of a Source with `spec.prune`. */
const readApplyAndPrune = [...readAndApply, 'delete'] as const;

/** In Holdfast's own namespace. */
export const ownRights: readonly Right[] = [
  {
    group: 'coordination.k8s.io',
    resource: 'leases',
    names: ['holdfast'],
    verbs: [...read, 'patch'],
    why: 'leader election',
  },
  { group: 'coordination.k8s.io', resource: 'leases', verbs: ['create'], why: 'leader election' },
  { group: '', resource: 'pods', verbs: read, why: 'to see whether the pod of the leader is gone' },
  {
    group: '',
    resource: 'secrets',
    names: ['holdfast-key'],
    verbs: ['get'],
    why: 'the key that hashes Secrets in digests',
  },
  { group: '', resource: 'secrets', verbs: ['create'], why: 'to create that key once' },
];

/** In every namespace whose Canaries or Sources are Holdfast's. */
export const watchedRights: readonly Right[] = [
  {
    group: 'flagger.app',
    resource: 'canaries',
    verbs: [...readApplyAndPrune, ...holdfastVerbs],
    why: 'Canaries, and requests made in Git by their annotations',
  },
  { group: 'flagger.app', resource: 'canaries/status', verbs: ['patch'], why: 'to write status' },
  {
    group: 'flagger.app',
    resource: 'canaries/finalizers',
    verbs: ['update'],
    why: 'to own what is generated for a Canary, where owner references are guarded',
  },
  { group: 'flagger.app', resource: 'metrictemplates', verbs: readApplyAndPrune, why: 'metric queries' },
  { group: 'flagger.app', resource: 'alertproviders', verbs: readApplyAndPrune, why: 'where alerts go' },
  {
    group: 'holdfast.dev',
    resource: 'sources',
    verbs: [...readApplyAndPrune, ...holdfastVerbs],
    why: 'Sources, and requests made in Git by their annotations',
  },
  { group: 'holdfast.dev', resource: 'sources/status', verbs: ['patch'], why: 'to write status' },
  { group: 'apps', resource: 'deployments', verbs: readApplyAndPrune, why: 'targets and their primaries' },
  { group: 'apps', resource: 'daemonsets', verbs: readApplyAndPrune, why: 'targets and their primaries' },
  { group: 'apps', resource: 'statefulsets', verbs: readApplyAndPrune, why: 'targets' },
  { group: 'apps', resource: 'replicasets', verbs: read, why: 'which pods run the current template' },
  { group: 'apps', resource: 'controllerrevisions', verbs: read, why: 'the same for DaemonSets' },
  {
    group: 'autoscaling',
    resource: 'horizontalpodautoscalers',
    verbs: readApplyAndPrune,
    why: 'scalers of targets and their primaries',
  },
  {
    group: 'keda.sh',
    resource: 'scaledobjects',
    verbs: readApplyAndPrune,
    why: 'the same, with KEDA',
  },
  {
    group: '',
    resource: 'pods',
    verbs: [...read, 'delete'],
    why: 'readiness, restarts and images of both copies; provider native replaces pods of DaemonSets node by node, and a stuck one of a StatefulSet',
  },
  { group: '', resource: 'services', verbs: readApplyAndPrune, why: 'apex, primary and canary Services' },
  {
    group: 'discovery.k8s.io',
    resource: 'endpointslices',
    verbs: read,
    why: 'endpoints of those Services',
  },
  {
    group: '',
    resource: 'configmaps',
    verbs: readApplyAndPrune,
    why: 'config of targets and its copies, variables of Sources',
  },
  {
    group: '',
    resource: 'secrets',
    verbs: readApplyAndPrune,
    why: 'release records and rejections, config copies, credentials, variables and age keys that Sources and MetricTemplates name',
  },
  ...routers.flatMap(({ name, resources }) =>
    resources.map((one): Right => {
      const [resource = '', ...group] = one.split('.');
      return {
        group: group.join('.'),
        resource,
        verbs: readApplyAndPrune,
        why: `traffic, provider ${name}`,
      };
    }),
  ),
  {
    group: 'serving.knative.dev',
    resource: 'services',
    verbs: readApplyAndPrune,
    why: 'targets of Knative, and their traffic',
  },
  { group: 'serving.knative.dev', resource: 'revisions', verbs: read, why: 'which revisions are ready' },
  {
    group: 'kustomize.toolkit.fluxcd.io',
    resource: 'kustomizations',
    verbs: ['get'],
    why: 'the commit of a target that Flux applies',
  },
  {
    group: 'argoproj.io',
    resource: 'applications',
    verbs: ['get'],
    why: 'the commit of a target that Argo CD applies',
  },
  {
    group: 'coordination.k8s.io',
    resource: 'leases',
    names: ['flagger-leader-election'],
    verbs: read,
    why: 'to detect a running Flagger',
  },
  { group: 'events.k8s.io', resource: 'events', verbs: ['create'], why: 'Events' },
];

/**
 * What no namespace bounds: reviews of who sent a request, and of what that one may do, which read nothing; and labels of nodes. Left out when
 * Holdfast is confined to namespaces.
 */
export const unboundRights: readonly Right[] = [
  {
    group: 'authentication.k8s.io',
    resource: 'tokenreviews',
    verbs: ['create'],
    why: 'to authenticate requests to gates',
  },
  {
    group: 'authorization.k8s.io',
    resource: 'subjectaccessreviews',
    verbs: ['create'],
    why: 'to authorize requests to gates',
  },
  { group: '', resource: 'nodes', verbs: ['list'], why: 'analysis.nodeOrder of DaemonSets' },
];

/** Left out unless it is asked for: who may write as any service account may do what any of them may. */
export const impersonationRights: readonly Right[] = [
  {
    group: '',
    resource: 'serviceaccounts',
    verbs: ['impersonate'],
    why: 'to apply as the service account of a Source',
  },
];

/** Kinds that GitOps repositories usually hold beside Canaries. Others are added by a ClusterRole of one's own (see install-rbac.ts). */
export const appliedRights: readonly Right[] = [
  { group: '', resource: 'serviceaccounts', verbs: readApplyAndPrune, why: 'applied from Git' },
  { group: '', resource: 'persistentvolumeclaims', verbs: readApplyAndPrune, why: 'applied from Git' },
  { group: 'batch', resource: 'cronjobs', verbs: readApplyAndPrune, why: 'applied from Git' },
  { group: 'batch', resource: 'jobs', verbs: readApplyAndPrune, why: 'applied from Git' },
  { group: 'policy', resource: 'poddisruptionbudgets', verbs: readApplyAndPrune, why: 'applied from Git' },
  { group: 'networking.k8s.io', resource: 'ingresses', verbs: readApplyAndPrune, why: 'applied from Git' },
  {
    group: 'networking.k8s.io',
    resource: 'networkpolicies',
    verbs: readApplyAndPrune,
    why: 'applied from Git',
  },
];

/** The same for kinds without a namespace; left out when Holdfast is confined to namespaces. */
export const appliedClusterRights: readonly Right[] = [
  { group: '', resource: 'namespaces', verbs: readApplyAndPrune, why: 'applied from Git' },
];
