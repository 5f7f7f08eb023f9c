import { builtInGates, canaryVerbs } from '../../api/annotations.ts';
import { clusterKeySecret, sourceAccount } from '../../api/kubernetes.ts';
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
  | 'bind'
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
  /** More verbs where Sources are written with Holdfast's own rights. */
  readonly trustedVerbs?: readonly RightVerb[];
  /** Only needed for these routing providers. */
  readonly providers?: readonly string[];
  /** What it is for, in words for the administrator who reads the manifest. */
  readonly why: string;
}

/** What decides which rights Holdfast gets. */
export interface RightsOptions {
  /** Empty: every namespace. */
  readonly watchNamespaces: readonly string[];
  /** Sources may name any service account of their namespace. */
  readonly impersonation: boolean;
  /** The account of Sources that name none; undefined: `sourceAccount`. */
  readonly defaultServiceAccount?: string | undefined;
  /** Namespaces whose Sources are written with Holdfast's own rights. */
  readonly trustedSourceNamespaces: readonly string[];
  /** Routing providers that Canaries use; empty: all. */
  readonly providers: readonly string[];
  /** The dashboard is served; default: it is not. */
  readonly dashboard?: boolean;
}

const read = ['get', 'list', 'watch'] as const;
/** Deletion is for what left the repository of a Source with `spec.prune`. */
const applyAndPrune = ['create', 'patch', 'delete'] as const;
const readApplyAndPrune = [...read, ...applyAndPrune] as const;

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
  { group: '', resource: 'configmaps', verbs: read, why: 'freezes of all Canaries' },
  { group: '', resource: 'pods', verbs: read, why: 'to see whether the pod of the leader is gone' },
  {
    group: '',
    resource: 'secrets',
    names: [clusterKeySecret],
    verbs: ['get'],
    why: 'the key that hashes Secrets in digests',
  },
  { group: '', resource: 'secrets', verbs: ['create'], why: 'to create that key once' },
];

/** Of whoever writes what is generated for a Canary: Holdfast, and the accounts of Sources. OpenShift guards owner references. */
export const ownership: Right = {
  group: 'flagger.app',
  resource: 'canaries/finalizers',
  verbs: ['update'],
  why: 'to own what is generated for a Canary, where owner references are guarded',
};

/** In every namespace whose Canaries or Sources are Holdfast's. */
const watchedRights: readonly Right[] = [
  {
    group: 'flagger.app',
    resource: 'canaries',
    // A gate that is opened over HTTP is written as an annotation.
    verbs: [...read, 'patch', ...builtInGates],
    trustedVerbs: [
      'create',
      'delete',
      ...holdfastVerbs.filter((verb) => !builtInGates.some((gate) => gate === verb)),
    ],
    why: 'Canaries, and requests made in Git by their annotations',
  },
  { group: 'flagger.app', resource: 'canaries/status', verbs: ['patch'], why: 'to write status' },
  ownership,
  {
    group: 'flagger.app',
    resource: 'metrictemplates',
    verbs: read,
    trustedVerbs: applyAndPrune,
    why: 'metric queries',
  },
  {
    group: 'flagger.app',
    resource: 'alertproviders',
    verbs: read,
    trustedVerbs: applyAndPrune,
    why: 'where alerts go',
  },
  {
    group: 'holdfast.dev',
    resource: 'sources',
    verbs: [...read, 'patch'],
    trustedVerbs: ['create', 'delete', ...holdfastVerbs],
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
  ...[...new Set(routers.flatMap(({ resources }) => resources))].map((one): Right => {
    const [resource = '', ...group] = one.split('.');
    const providers = routers.filter(({ resources }) => resources.includes(one)).map(({ name }) => name);
    const why = `traffic, ${providers.length > 1 ? 'providers' : 'provider'} ${providers.join(', ')}`;
    return { group: group.join('.'), resource, verbs: readApplyAndPrune, providers, why };
  }),
  {
    group: 'serving.knative.dev',
    resource: 'services',
    verbs: readApplyAndPrune,
    providers: ['knative'],
    why: 'targets of Knative, and their traffic',
  },
  {
    group: 'serving.knative.dev',
    resource: 'revisions',
    verbs: read,
    providers: ['knative'],
    why: 'which revisions are ready',
  },
  {
    group: 'metrics.keptn.sh',
    resource: 'keptnmetrics',
    verbs: ['get'],
    why: 'MetricTemplates of type keptn',
  },
  {
    group: 'metrics.keptn.sh',
    resource: 'analyses',
    verbs: ['get', 'create', 'delete'],
    why: 'the same, for an Analysis',
  },
  { group: 'batch', resource: 'cronjobs', verbs: ['get'], why: 'MetricTemplates of type job' },
  {
    group: 'batch',
    resource: 'jobs',
    verbs: ['get'],
    why: 'the same; Jobs are created and deleted as the service account of a Source',
  },
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
const unboundRights: readonly Right[] = [
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

/** What people ask for on the dashboard is written by Holdfast, after the API server has said that they may (ADR 43). */
const dashboardRights: readonly Right[] = [
  {
    group: 'flagger.app',
    resource: 'canaries',
    verbs: [...canaryVerbs, 'pause'],
    why: 'what people ask for on the dashboard',
  },
  {
    group: 'holdfast.dev',
    resource: 'sources',
    verbs: ['sync'],
    why: 'what people ask for on the dashboard',
  },
];

/** To act as service accounts: the one of Sources that name none, or any that a Source names. */
function accountRights({ watchNamespaces, impersonation, defaultServiceAccount }: RightsOptions): Right[] {
  const isAny = impersonation || defaultServiceAccount !== undefined;
  const act: Right = {
    group: '',
    resource: 'serviceaccounts',
    verbs: ['impersonate'],
    ...(isAny ? {} : { names: [sourceAccount] }),
    why: 'to apply as the service account of a Source',
  };
  // Where Holdfast is confined to namespaces, the RoleBindings are printed by install.
  if (defaultServiceAccount !== undefined || watchNamespaces.length > 0) return [act];
  const group = 'rbac.authorization.k8s.io';
  const why = 'the role edit for the account of Sources that name none, in their namespace';
  return [
    act,
    { group, resource: 'rolebindings', names: [sourceAccount], verbs: [...read, 'delete'], why },
    { group, resource: 'rolebindings', verbs: ['create'], why },
    { group, resource: 'clusterroles', names: ['edit'], verbs: ['bind'], why },
  ];
}

/** Rights of the ClusterRole `holdfast`. */
export function holdfastRights(options: RightsOptions): Right[] {
  const { providers, watchNamespaces, dashboard } = options;
  const isUsed = (right: Right) =>
    providers.length === 0 || !right.providers || right.providers.some((name) => providers.includes(name));
  return [
    ...watchedRights.filter(isUsed).map((right) => withTrust(right, options)),
    ...(watchNamespaces.length > 0 ? [] : unboundRights),
    ...accountRights(options),
    ...(dashboard ? dashboardRights : []),
  ];
}

/**
 * Rights of the ClusterRole `holdfast-apply`: kinds that GitOps repositories usually hold beside Canaries, written only where Sources are written with
 * Holdfast's own rights, and watched everywhere to correct drift. Others are added by a ClusterRole of one's own.
 */
export function applyRights(options: RightsOptions): Right[] {
  const isConfined = options.watchNamespaces.length > 0;
  const rights = isConfined ? appliedRights : [...unboundAppliedRights, ...appliedRights];
  return rights.map((right) => withTrust(right, options));
}

const unboundAppliedRights: readonly Right[] = [applied('', 'namespaces')];

const appliedRights: readonly Right[] = [
  applied('', 'serviceaccounts'),
  applied('', 'persistentvolumeclaims'),
  applied('batch', 'cronjobs'),
  applied('batch', 'jobs'),
  applied('policy', 'poddisruptionbudgets'),
  applied('networking.k8s.io', 'ingresses'),
  applied('networking.k8s.io', 'networkpolicies'),
];

function applied(group: string, resource: string): Right {
  return { group, resource, verbs: read, trustedVerbs: applyAndPrune, why: 'applied from Git' };
}

function withTrust(right: Right, { trustedSourceNamespaces }: RightsOptions): Right {
  const { trustedVerbs } = right;
  if (!trustedVerbs || trustedSourceNamespaces.length === 0) return right;
  return { ...right, verbs: [...right.verbs, ...trustedVerbs] };
}

/** What the rights are chosen from, for the Helm chart, whose templates choose by its values as the functions above do by options (ADR 41). */
export function rightsTables(): Readonly<Record<string, readonly Right[]>> {
  const unconfined = { watchNamespaces: [], trustedSourceNamespaces: [], providers: [] };
  const [sourceAccountOnly, ...roleBindings] = accountRights({ ...unconfined, impersonation: false });
  const [anyAccount] = accountRights({ ...unconfined, impersonation: true });
  return {
    watched: watchedRights,
    unbound: unboundRights,
    sourceAccountOnly: sourceAccountOnly ? [sourceAccountOnly] : [],
    anyAccount: anyAccount ? [anyAccount] : [],
    roleBindings,
    dashboard: dashboardRights,
    unboundApplied: unboundAppliedRights,
    applied: appliedRights,
  };
}
