/** The Services and routing objects of a Canary: how they are found and read, and what is to be written. */
import { type Canary, sharesWorkload } from '../../../api/canary/canary.ts';
import { describe, type KubernetesObject, namespacedName, referenceOf } from '../../../api/kubernetes.ts';
import type { RouteTarget, RouteView } from '../../../api/observed.ts';
import type { RouteContext, RouteReference, Router } from '../../../contracts/routing.ts';
import { servicePorts } from '../../../release/ports.ts';
import { type ServicePort, templateOf } from '../../../release/release.ts';
import { isDigestLost } from '../../../rollout/world.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { ownPorts } from '../../../workload/pods/endpoints.ts';
import { givesUpPorts } from '../../../workload/service/existing-service.ts';
import { type GeneratedServices, generatedServices } from '../../../workload/service/generated-services.ts';
import {
  type SelectorLabel,
  selectorLabel,
  selectorLabelOfPrimary,
  serviceNames,
} from '../../../workload/shared/metadata.ts';
import { EngineError } from '../../failure.ts';
import { type NamespaceView, serviceKind } from '../context/namespace-view.ts';
import {
  type Observation,
  providerOf,
  type ReadContext,
  type ReadParts,
  routeReferences,
  routerOf,
} from '../context/observation.ts';
import { bytesOf } from './releases.ts';

/**
 * The label that tells the two workloads apart: of the live target, of the one Git wants, or else of the primary. Undefined when there is none of
 * them, and where the two sides are no workloads of ours.
 */
export function labelOf(
  parts: Pick<ReadParts, 'heads' | 'options'>,
  canary: Canary,
  { target, primary }: Pick<Observation, 'target' | 'primary'>,
): SelectorLabel | undefined {
  if (workloadKind(canary).sides !== 'workloads') return undefined;
  const { selectorLabels } = parts.options;
  const source = target ?? parts.heads.of(namespacedName(canary)).release?.target;
  if (source) return selectorLabel(source, selectorLabels);
  return primary && selectorLabelOfPrimary(primary, selectorLabels);
}

/** The Canary as routers get it. */
function routeContext(
  canary: Canary,
  label: SelectorLabel | undefined,
  more: Partial<Omit<RouteContext, 'canary' | 'names' | 'label'>> = {},
): RouteContext {
  return { canary, names: serviceNames(canary), label, ...more };
}

/** The route in Git that replaces the Canary's once that has moved to a provider without one; undefined: there is none. */
export function successorOf(
  { heads }: Pick<ReadParts, 'heads'>,
  canary: Canary,
  { router, movesTo }: { readonly router: Router; readonly movesTo: string | undefined },
): KubernetesObject | undefined {
  if (movesTo === undefined || !sharesWorkload(movesTo)) return undefined;
  const context = routeContext(canary, undefined);
  const held = (heads.of(namespacedName(canary)).shared ?? []).filter(
    ({ metadata }) => metadata.name === context.names.apex,
  );
  const isOfRouter = (object: KubernetesObject) =>
    router.kinds.some(({ apiVersion, kind }) => object.apiVersion === apiVersion && object.kind === kind);
  return held.find((object) => isOfRouter(object) && router.isSucceededBy?.(context, object));
}

/** The route that `spec.routeRef` names, as Git holds it; undefined: Git is not known, or holds none. */
function routeInGit({ heads }: Pick<ReadParts, 'heads'>, canary: Canary): KubernetesObject | undefined {
  const { kind, name } = canary.spec.routeRef ?? {};
  const held = heads.of(namespacedName(canary)).shared ?? [];
  return held.find((object) => object.kind === kind && object.metadata.name === name);
}

/** The traffic as these routing objects say it. */
export function readRoute(
  {
    parts,
    canary,
    provider,
    movesTo,
  }: Pick<Observation, 'canary' | 'provider'> & {
    readonly parts: ReadParts;
    readonly movesTo: string | undefined;
  },
  workloads: Pick<Observation, 'target' | 'primary'>,
  live: readonly KubernetesObject[],
): RouteView | undefined {
  const router = routerOf(parts, provider);
  const routing = routeContext(canary, labelOf(parts, canary, workloads), {
    successor: successorOf(parts, canary, { router, movesTo }),
    inGit: routeInGit(parts, canary),
    settings: parts.options.routes,
  });
  return router.read(routing, live);
}

/** The other Canaries of the namespace that name the same route. */
function neighboursOf({ canaries }: Pick<ReadParts, 'canaries'>, canary: Canary): Canary[] {
  const { kind, name } = canary.spec.routeRef ?? {};
  if (name === undefined) return [];
  return canaries.list().flatMap((object) => {
    const { spec, metadata } = object as Partial<Canary> & KubernetesObject;
    const isOther =
      metadata.namespace === canary.metadata.namespace && metadata.name !== canary.metadata.name;
    const isSame = spec?.routeRef?.kind === kind && spec?.routeRef?.name === name;
    return isOther && isSame && spec?.targetRef?.name ? (object as Canary) : [];
  });
}

/** Whether another Canary goes on dividing the route that this one names. */
export function isDividedByOthers(
  parts: Pick<ReadParts, 'canaries' | 'options'>,
  canary: Canary,
  { kind, metadata }: KubernetesObject,
): boolean {
  const { routeRef } = canary.spec;
  if (routeRef?.kind !== kind || routeRef.name !== metadata.name) return false;
  const provider = providerOf(canary, parts.options);
  return neighboursOf(parts, canary).some(
    (other) =>
      other.metadata.deletionTimestamp === undefined && providerOf(other, parts.options) === provider,
  );
}

/** Live routing objects, and the apex Service, that a router may look at. */
export function liveRoutes(router: Router, view: NamespaceView, canary: Canary): KubernetesObject[] {
  const { apex } = serviceNames(canary);
  const isApex = ({ apiVersion, kind }: RouteReference) =>
    apiVersion === serviceKind.apiVersion && kind === serviceKind.kind;
  const routes = routeReferences(router, canary).filter((reference) => !isApex(reference));
  return [...routes, { ...serviceKind, name: apex }]
    .map((reference) => view.get(reference, reference.name))
    .filter((object) => object !== undefined);
}

/** The generated Services as they are. */
export function liveServices({ observation }: ReadContext) {
  const names = serviceNames(observation.canary);
  const get = (name: string) => observation.view.get(serviceKind, name);
  return { apex: get(names.apex), primary: get(names.primary), canary: get(names.canary) };
}

/** Apex, primary and canary Service with the ports of what they select; without a digest of the canary, its Service is left out. */
export async function wantedServices(
  context: ReadContext,
  { primaryDigest, canaryDigest }: { primaryDigest: string; canaryDigest: string | undefined },
): Promise<GeneratedServices> {
  const ports = await portsOf(context, primaryDigest);
  const canaryPorts = canaryDigest === undefined ? undefined : await portsOf(context, canaryDigest);
  const selects = apexSelects(context);
  const { apex, primary, canary } = liveServices(context);
  return generatedServices({
    canary: context.observation.canary,
    label: requiredLabel(context),
    ports,
    canaryPorts,
    apexSelects: selects,
    live: {
      apex: await withManagers(context, apex, (selects === 'canary' ? canaryPorts : undefined) ?? ports),
      primary: await withManagers(context, primary, ports),
      canary: canaryPorts ? await withManagers(context, canary, canaryPorts) : canary,
    },
  });
}

/** A Service of others that gives up a port of the Canary is read: the watches do not tell who keeps it. */
async function withManagers(
  { parts }: ReadContext,
  live: KubernetesObject | undefined,
  ports: readonly ServicePort[],
): Promise<KubernetesObject | undefined> {
  return live && givesUpPorts(live, ports) ? parts.cluster.get(referenceOf(live)) : live;
}

/** The routing objects with these weights. */
export async function wantedRoutes(context: ReadContext, route: RouteTarget): Promise<KubernetesObject[]> {
  const { parts, observation } = context;
  const router = routerOf(parts, observation.provider);
  const live = liveRoutes(router, observation.view, observation.canary);
  const apex = router.apexFollowsTraffic ? await apexService(context, route) : undefined;
  const { sides } = workloadKind(observation.canary);
  const label = sides === 'workloads' ? requiredLabel(context) : undefined;
  const { movesTo } = observation.world;
  const successor = successorOf(parts, observation.canary, { router, movesTo });
  const inGit = routeInGit(parts, observation.canary);
  const neighbours = neighboursOf(parts, observation.canary).map(serviceNames);
  const ports = sidePorts(context);
  const more = { apex, successor, inGit, neighbours, ports, settings: parts.options.routes };
  return router.objects(routeContext(observation.canary, label, more), route, live);
}

/**
 * The port by which requests reach the Service of each side, as it is now: a route must not lead to a port that comes with the next release, or that
 * went with the last one. Undefined where there is no Service yet.
 */
function sidePorts(context: ReadContext): RouteContext['ports'] {
  const { parts, observation } = context;
  const { canary, world } = observation;
  const live = liveServices(context);
  const portOf = (service: KubernetesObject | undefined, digest = ''): number | undefined => {
    const found = service ? ownPorts(service).map(({ port }) => port) : [];
    const wanted = [parts.ports.get(digest)?.[0]?.port, canary.spec.service?.port];
    return wanted.find((port) => port !== undefined && found.includes(port)) ?? found[0];
  };
  return {
    primary: portOf(live.primary, world.primary?.digest),
    canary: portOf(live.canary, world.target?.digest),
  };
}

function requiredLabel({ parts, observation }: ReadContext) {
  const label = labelOf(parts, observation.canary, observation);
  if (label) return label;
  const { kind, name } = observation.canary.spec.targetRef;
  throw new EngineError('TargetMissing', `spec.targetRef: ${kind} ${name} does not exist yet`, true);
}

/** The side that the apex Service selects now; only SetTraffic moves it, and the end of the primary where a route is in front of it. */
function apexSelects({ parts, observation }: ReadContext): 'primary' | 'canary' {
  const { apexFollowsTraffic } = routerOf(parts, observation.provider);
  const { world } = observation;
  const isGoing = observation.canary.metadata.deletionTimestamp !== undefined || world.movesTo !== undefined;
  const { move } = world.status;
  const targetServes = move?.to === observation.provider && move.handedOverTime === undefined;
  // A Service that existed before selects the target's pods until the primary has taken over.
  if (targetServes && (!apexFollowsTraffic || world.route?.accepted !== true)) return 'canary';
  return (apexFollowsTraffic || isGoing) && observation.world.route?.canaryWeight === 100
    ? 'canary'
    : 'primary';
}

/** The apex Service as EnsureServices writes it, with the ports of the release that it is to select; where those are not known, of the other. */
async function apexService(context: ReadContext, { canaryWeight }: RouteTarget): Promise<KubernetesObject> {
  const { world, canary } = context.observation;
  const [ofPrimary, ofTarget] = [world.primary?.digest, world.target?.digest];
  const isKnown = ofTarget !== undefined && hasPorts(context, ofTarget);
  const digest = canaryWeight === 100 && isKnown ? ofTarget : (ofPrimary ?? ofTarget);
  if (digest === undefined)
    throw new EngineError('PrimaryMissing', `${describe(canary)}: the primary does not exist yet`, true);
  return (await wantedServices(context, { primaryDigest: digest, canaryDigest: undefined })).apex;
}

/** Whether the ports of a release are known: where its bytes are lost, only its Service has them. */
export function hasPorts(context: ReadContext, digest: string): boolean {
  const { parts, observation } = context;
  if (parts.ports.has(digest) || !isDigestLost(observation.world, digest)) return true;
  return livePorts(context, digest) !== undefined;
}

async function portsOf(context: ReadContext, digest: string): Promise<readonly ServicePort[]> {
  const { ports } = context.parts;
  const known = ports.get(digest);
  if (known) return known;
  if (isDigestLost(context.observation.world, digest)) {
    const live = livePorts(context, digest);
    if (live) return live;
  }
  const { release } = await bytesOf(context, digest);
  // A release that was promoted while the Canary asked for no Service says nothing about ports.
  if (release.ports.length === 0)
    return servicePorts(context.observation.canary.spec.service, templateOf(release));
  ports.set(digest, release.ports);
  return release.ports;
}

/** Ports of a workload whose release is lost, from its generated Service, so that they stay. */
function livePorts(context: ReadContext, digest: string): readonly ServicePort[] | undefined {
  const { world } = context.observation;
  const { primary, canary } = liveServices(context);
  const service = world.primary?.digest === digest ? primary : canary;
  const ports = (service?.spec as { ports?: Array<ServicePort & { nodePort?: number }> } | undefined)?.ports;
  return ports?.map(({ nodePort: _, ...port }) => port);
}
