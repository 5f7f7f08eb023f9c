import type { Canary } from '../../api/canary/canary.ts';
import { type KubernetesObject, present } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { HeaderMatch } from '../../api/schema.ts';
import { parseDurationMs } from '../../api/time.ts';
import type { RouteContext, RouteProblem } from '../../contracts/routing.ts';
import { type MeshVersion, meshVersions } from './appmesh-versions.ts';
import { byFlaggersLabels, envoyMetrics } from './request-metrics.ts';
import {
  assertWeights,
  conditionsBut,
  findObject,
  ignoredBut,
  isAbTest,
  percentOf,
  type RouteReading,
  type RoutingProvider,
  routeMetadata,
  taken,
  unreadable,
  withoutEffect,
} from './router.ts';

/**
 * Providers `appmesh` (appmesh.k8s.aws/v1beta1) and `appmesh:v1beta2`: virtual nodes, routers and services (flagger-behaviour.md 3.4). AWS
 * has ended App Mesh; existing setups of Flagger's users continue to work.
 */

const ignored: readonly string[] = [
  ...ignoredBut('spec.service.meshName', 'spec.service.backends'),
  'spec.service.gatewayRefs',
  'spec.service.backendTimeout',
  'spec.service.headers',
  'spec.service.rewrite',
  'spec.service.mirror',
  'spec.service.corsPolicy',
  ...conditionsBut('uri'),
];

/** The routers of both versions. */
export const appMeshProviders: readonly RoutingProvider[] = meshVersions.map((version) => ({
  name: version.provider,
  ...(version.variants ? { variants: version.variants } : {}),
  kinds: version.kinds,
  resources: version.resources,
  requests: { ...envoyMetrics, byPods: true, selector: byFlaggersLabels },
  references: ({ metadata }, names) => version.references(names, metadata.namespace ?? 'default'),
  apexFollowsTraffic: false,
  ignores: () => [...ignored, ...version.ignores],
  check: (canary) => check(canary, version),
  objects: (context, target, live) => objects(context, target, { version, live }),
  read: (context, live) => readMesh(context, version, live),
}));

function check({ spec }: Canary, { provider }: MeshVersion): RouteProblem[] {
  const { service, analysis } = spec;
  const [first, ...others] = service?.match ?? [];
  const error = (path: string, message: string): RouteProblem => ({ severity: 'error', path, message });
  const warning = (path: string, message: string): RouteProblem => ({ severity: 'warning', path, message });
  return [
    ...(others.length > 0
      ? [warning('spec.service.match', `only the first match counts with provider ${provider}`)]
      : []),
    ...(first && !first.uri?.prefix
      ? [
          warning(
            'spec.service.match[0].uri',
            `provider ${provider} takes the prefix only; the route gets all paths`,
          ),
        ]
      : []),
    ...withoutEffect({ mirror: analysis?.mirror, sessionAffinity: analysis?.sessionAffinity }, provider),
    ...(analysis?.match ?? []).flatMap(({ headers }, index) =>
      Object.keys(headers ?? {}).length > 0
        ? []
        : [error(`spec.analysis.match[${index}]`, 'needs headers: App Mesh has no other A/B condition')],
    ),
  ];
}

/** Nodes before what routes to them. The canary's own address always leads to the canary. */
function objects(
  context: RouteContext,
  target: RouteTarget,
  { version, live }: { readonly version: MeshVersion; readonly live: readonly KubernetesObject[] },
): KubernetesObject[] {
  assertWeights(target);
  const { apex, canary } = context.names;
  const made = [
    ...version.nodes(context, { listener: listener(context), timeout: timeoutOf(context) }),
    ...version.routing(context, {
      name: apex,
      listener: listener(context),
      routes: routes(context, target, version),
    }),
    ...version.routing(context, {
      name: canary,
      listener: listener(context),
      routes: [route(context, version, { name: canary, weights: { primaryWeight: 0, canaryWeight: 100 } })],
    }),
  ];
  return made.map(({ annotations, spec, ...reference }) => {
    const { apiVersion, kind, name } = reference;
    const metadata = routeMetadata(context, findObject(context, reference, live));
    const all = { ...metadata.annotations, ...annotations };
    return { apiVersion, kind, metadata: { ...metadata, name, annotations: all }, spec };
  });
}

/** A/B: a route for each match, by weight, and one that sends all other requests to the primary. Otherwise one route by weight. */
function routes(context: RouteContext, target: RouteTarget, version: MeshVersion): object[] {
  const { apex } = context.names;
  if (!target.matched || !isAbTest(context))
    return [route(context, version, { name: apex, weights: target })];
  const matches = context.canary.spec.analysis?.match ?? [];
  return [
    ...matches.map(({ headers = {} }, index) =>
      route(context, version, {
        name: index === 0 ? `${apex}-a` : `${apex}-a${index + 1}`,
        weights: target,
        headers,
        priority: 10 + index,
      }),
    ),
    route(context, version, {
      name: `${apex}-b`,
      weights: { primaryWeight: 100, canaryWeight: 0 },
      priority: 20 + matches.length - 1,
      isPrimaryOnly: true,
    }),
  ];
}

interface RouteParts {
  readonly name: string;
  readonly weights: Pick<RouteTarget, 'primaryWeight' | 'canaryWeight'>;
  readonly headers?: Readonly<Record<string, HeaderMatch>>;
  readonly priority?: number;
  readonly isPrimaryOnly?: boolean;
}

function route(
  context: RouteContext,
  { target, http, routesTimeOut, perTry }: MeshVersion,
  { name, weights, headers, priority, isPrimaryOnly }: RouteParts,
): object {
  const { service } = context.canary.spec;
  const { primary, canary } = context.names;
  const prefix = service?.match?.[0]?.uri?.prefix || '/';
  const match = present({
    prefix,
    headers: headers && Object.entries(headers).map(([header, match]) => ({ name: header, match })),
  });
  const weightedTargets = [
    ...(isPrimaryOnly ? [] : [{ ...target(canary), weight: weights.canaryWeight }]),
    { ...target(primary), weight: weights.primaryWeight },
  ];
  const retryPolicy = retryPolicyOf(service?.retries, perTry);
  return present({
    name,
    priority,
    [http]: present({
      match,
      timeout: routesTimeOut ? timeoutOf(context) : undefined,
      retryPolicy,
      action: { weightedTargets },
    }),
  });
}

/** One more try on gateway errors after 250 ms, unless the Canary says otherwise. */
function retryPolicyOf(
  retries: NonNullable<Canary['spec']['service']>['retries'],
  perTry: MeshVersion['perTry'],
): object | undefined {
  if (!retries) return undefined;
  const { attempts = 0, perTryTimeout, retryOn } = retries;
  return {
    maxRetries: attempts > 0 ? attempts : 1,
    ...perTry((perTryTimeout && parseDurationMs(perTryTimeout)) || 250),
    httpRetryEvents: (retryOn || 'gateway-error').split(',').map((event) => event.trim()),
  };
}

function timeoutOf({ canary }: RouteContext): object | undefined {
  const { timeout } = canary.spec.service ?? {};
  const value = timeout ? parseDurationMs(timeout) : undefined;
  return value === undefined ? undefined : { perRequest: { unit: 'ms', value } };
}

/** App Mesh connects to the port of the container. */
function listener({ canary }: RouteContext): object {
  const { port, portName = '', targetPort } = canary.spec.service ?? {};
  const number = typeof targetPort === 'number' && targetPort > 0 ? targetPort : port;
  return { portMapping: { port: number, protocol: portName.includes('grpc') ? 'grpc' : 'http' } };
}

/** Reads traffic back from App Mesh's objects. */

interface Targets {
  readonly action?: {
    readonly weightedTargets?: ReadonlyArray<{
      readonly virtualNodeName?: string;
      readonly virtualNodeRef?: { readonly name?: string };
      readonly weight?: number;
    }>;
  };
}

/** Weights of the first route with both sides. */
function readMesh(
  context: RouteContext,
  version: MeshVersion,
  live: readonly KubernetesObject[],
): RouteReading | undefined {
  const { primary, canary } = context.names;
  const namespace = context.canary.metadata.namespace ?? 'default';
  const holder = version.holder(context.names, namespace);
  const found = findObject(context, holder, live);
  if (!found) return undefined;
  const { routes = [] } = (found.spec ?? {}) as { routes?: ReadonlyArray<Readonly<Record<string, Targets>>> };
  const lists = routes.map((route) => route[version.http]?.action?.weightedTargets ?? []);
  const weights = lists.flatMap((targets) => {
    const weightOf = (name: string) =>
      targets.find((one) => (one.virtualNodeRef?.name ?? one.virtualNodeName) === name)?.weight;
    return percentOf(weightOf(primary), weightOf(canary)) ?? [];
  });
  const [split] = weights;
  if (!split)
    return unreadable(`${holder.kind} ${holder.name}: no route has weights for ${primary} and ${canary}`);
  const gone = version.references(context.names, namespace).find((one) => !findObject(context, one, live));
  const missing = gone && `${gone.kind} ${gone.name} does not exist yet`;
  return taken({ ...split, matched: routes.length > 1 }, missing ?? version.refusal(found));
}
