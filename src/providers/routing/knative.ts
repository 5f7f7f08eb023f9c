/** Provider `knative`: no traffic object. The target, a Knative Service, divides requests between its revisions (flagger-behaviour.md 3.12). */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import { envoyMetrics, literal } from './request-metrics.ts';
import {
  assertWeights,
  findRoute,
  ignoredBut,
  percentOf,
  type RouteReading,
  type RoutingProvider,
  requestFields,
  unreadable,
  weightsOnly,
} from './router.ts';

const service = { apiVersion: 'serving.knative.dev/v1', kind: 'Service' };
/** A Knative Service has no generated route in front of it. */
const ignored: readonly string[] = [
  ...ignoredBut(),
  ...requestFields,
  'spec.service.apex',
  'spec.service.primary',
  'spec.service.canary',
];
const primaryRevisionAnnotation = 'flagger.app/primary-revision';

/** The router of provider `knative`. */
export const knative: RoutingProvider = {
  name: 'knative',
  kinds: [service],
  resources: [],
  requests: {
    ...envoyMetrics,
    selector: ({ namespace, route }) => `envoy_cluster_name=~"${literal(namespace)}/${literal(route)}"`,
  },
  apexFollowsTraffic: false,
  isTarget: true,
  ignores: () => ignored,
  check: (canary) => weightsOnly(canary, 'knative'),
  objects,
  read,
};

interface TrafficEntry {
  revisionName?: string;
  latestRevision?: boolean;
  percent?: number;
}

interface KnativeService {
  spec?: { traffic?: TrafficEntry[] };
  status?: {
    observedGeneration?: number;
    latestCreatedRevisionName?: string;
    traffic?: TrafficEntry[];
    conditions?: Array<{ type: string; status: string; message?: string }>;
  };
}

/**
 * The Service's traffic and nothing else of it. The canary's revision is named, so that a newer one gets nothing before it is tried; without a
 * share, and where both sides are the same revision, it is the newest, as in Flagger.
 */
function objects(
  context: RouteContext,
  target: RouteTarget,
  live: readonly KubernetesObject[],
): KubernetesObject[] {
  assertWeights(target);
  const found = findRoute(context, service, live);
  const primary = found?.metadata.annotations?.[primaryRevisionAnnotation];
  if (!found || primary === undefined) return [];
  const latest = (found as KnativeService).status?.latestCreatedRevisionName;
  const isGoing = context.canary.metadata.deletionTimestamp !== undefined;
  const isNamed = target.canaryWeight > 0 && latest !== undefined && latest !== primary && !isGoing;
  const { name, namespace } = found.metadata;
  const canary = isNamed ? { latestRevision: false, revisionName: latest } : { latestRevision: true };
  const traffic = [
    { ...canary, percent: target.canaryWeight },
    { latestRevision: false, revisionName: primary, percent: target.primaryWeight },
  ];
  return [{ ...service, metadata: { name, ...(namespace ? { namespace } : {}) }, spec: { traffic } }];
}

/** Read from the status: what Knative has done, not what was asked for. */
function read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined {
  const found = findRoute(context, service, live);
  const primary = found?.metadata.annotations?.[primaryRevisionAnnotation];
  if (!found || primary === undefined) return undefined;
  const { status } = found as KnativeService;
  const shareOf = (isWanted: (entry: TrafficEntry) => boolean): number =>
    (status?.traffic ?? []).filter(isWanted).reduce((total, { percent = 0 }) => total + percent, 0);
  const isPrimary = (entry: TrafficEntry) => entry.latestRevision !== true && entry.revisionName === primary;
  const split = percentOf(
    shareOf(isPrimary),
    shareOf((entry) => !isPrimary(entry)),
  );
  if (!split)
    return unreadable(`Knative Service ${found.metadata.name}: its status does not report traffic yet`);
  const problem = refusal(found);
  return {
    ...split,
    mirrored: false,
    matched: false,
    accepted: problem === undefined,
    ...(problem ? { problem } : {}),
  };
}

/** Why Knative has not taken the current generation, undefined when it has. Its route is a further object, which RoutesReady is about. */
function refusal(found: KubernetesObject): string | undefined {
  const { name, generation = 0 } = found.metadata;
  const { status } = found as KnativeService;
  if ((status?.observedGeneration ?? 0) < generation)
    return `Knative Service ${name}: its controller has not observed generation ${generation} yet; check that it runs`;
  const routes = status?.conditions?.find(({ type }) => type === 'RoutesReady');
  if (routes?.status === 'True') return undefined;
  const message = routes ? `: ${routes.message ?? routes.status}` : ' yet: no condition RoutesReady';
  return `Knative Service ${name}: its routes are not ready${message}`;
}
