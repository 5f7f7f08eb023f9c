/** Services and routing objects of a Canary as they are to be written. */
import type { Canary } from '../../../api/canary/canary.ts';
import { sharesWorkload } from '../../../api/defaults.ts';
import { describe, type KubernetesObject, namespacedName } from '../../../api/kubernetes.ts';
import type { RouteTarget } from '../../../api/observed.ts';
import type { RouteContext, Router } from '../../../contracts/routing.ts';
import { servicePorts } from '../../../release/ports.ts';
import { type ServicePort, templateOf } from '../../../release/release.ts';
import { isDigestLost } from '../../../rollout/records.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { type GeneratedServices, generatedServices } from '../../../workload/service/generated-services.ts';
import { serviceNames } from '../../../workload/shared/names.ts';
import { RefusedError } from '../../../workload/shared/refusal.ts';
import { type SelectorLabel, selectorLabel } from '../../../workload/shared/selector.ts';
import { isAsMarked } from '../../applied.ts';
import { EngineError } from '../../failure.ts';
import type { CanaryParts, ReadContext } from '../context/context.ts';
import { type NamespaceView, serviceKind } from '../context/namespace-view.ts';
import { bytesOf } from './releases.ts';

/** Apex, primary and canary Service with the ports of what they select; without a digest of the canary, its Service is left out. */
export async function wantedServices(
  context: ReadContext,
  { primaryDigest, canaryDigest }: { primaryDigest: string; canaryDigest: string | undefined },
): Promise<GeneratedServices> {
  return generatedServices({
    canary: context.observation.canary,
    label: requiredLabel(context),
    ports: await portsOf(context, primaryDigest),
    canaryPorts: canaryDigest === undefined ? undefined : await portsOf(context, canaryDigest),
    apexSelects: apexSelects(context),
    live: liveServices(context),
  });
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
  return router.objects(routeContext(observation.canary, label, { apex, successor }), route, live);
}

function requiredLabel({ parts, observation }: ReadContext) {
  const label = labelOf(parts, observation.canary, observation.target);
  if (label) return label;
  const { kind, name } = observation.canary.spec.targetRef;
  throw new EngineError('TargetMissing', `spec.targetRef: ${kind} ${name} does not exist yet`, true);
}

/** The generated Services as they are. */
export function liveServices({ observation }: ReadContext) {
  const names = serviceNames(observation.canary);
  const get = (name: string) => observation.view.get(serviceKind, name);
  return { apex: get(names.apex), primary: get(names.primary), canary: get(names.canary) };
}

/** The apex keeps pointing where the traffic is; only SetTraffic moves it, and the primary's end where a route is before it. */
function apexSelects({ parts, observation }: ReadContext): 'primary' | 'canary' {
  const { apexFollowsTraffic } = routerOf(parts, observation.provider);
  const { world } = observation;
  const isGoing = observation.canary.metadata.deletionTimestamp !== undefined || world.movesTo !== undefined;
  const { move } = world.status;
  const targetServes = move?.to === observation.provider && move.handedOverTime === undefined;
  // A Service that was there selects the target's pods until the primary has taken over, whatever else its selector said.
  if (targetServes && (!apexFollowsTraffic || world.route?.accepted !== true)) return 'canary';
  return (apexFollowsTraffic || isGoing) && observation.world.route?.canaryWeight === 100
    ? 'canary'
    : 'primary';
}

/** The apex Service as EnsureServices writes it, with the ports of the release that it is to select; where nobody knows that one, of the other. */
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

/** Ports of a workload whose release is lost, as its generated Service carries them: what is there stays as it is. */
function livePorts(context: ReadContext, digest: string): readonly ServicePort[] | undefined {
  const { world } = context.observation;
  const { primary, canary } = liveServices(context);
  const service = world.primary?.digest === digest ? primary : canary;
  const ports = (service?.spec as { ports?: Array<ServicePort & { nodePort?: number }> } | undefined)?.ports;
  return ports?.map(({ nodePort: _, ...port }) => port);
}

/** The router of a provider. Throws EngineError UnknownProvider. */
export function routerOf(parts: Pick<CanaryParts, 'routing'>, provider: string): Router {
  const router = parts.routing(provider);
  if (router) return router;
  throw new EngineError(
    'UnknownProvider',
    `spec.provider: this version cannot route traffic with ${provider}`,
  );
}

/** Whether the target is there, or wanted: before that there is nothing to route to. */
export function isTargetKnown(
  { heads }: Pick<CanaryParts, 'heads'>,
  canary: Canary,
  target: KubernetesObject | undefined,
): boolean {
  return target !== undefined || heads.of(namespacedName(canary)).release !== undefined;
}

/**
 * The label that tells the two workloads apart: of the live target, or of the one Git wants. Undefined when there is neither, and where the
 * two sides are no workloads of ours.
 */
export function labelOf(
  parts: Pick<CanaryParts, 'heads' | 'options'>,
  canary: Canary,
  target: KubernetesObject | undefined,
): SelectorLabel | undefined {
  if (workloadKind(canary).sides !== 'workloads') return undefined;
  const source = target ?? parts.heads.of(namespacedName(canary)).release?.target;
  return source && selectorLabel(source, parts.options.selectorLabels);
}

/** What a router is asked with. */
export function routeContext(
  canary: Canary,
  label: SelectorLabel | undefined,
  more: Pick<RouteContext, 'apex' | 'successor'> = {},
): RouteContext {
  return { canary, names: serviceNames(canary), label, ...more };
}

/** The route as Git holds it, which takes the place of the Canary's when that has moved to a provider without one; undefined: there is none. */
export function successorOf(
  { heads }: Pick<CanaryParts, 'heads'>,
  canary: Canary,
  { router, movesTo }: { readonly router: Router; readonly movesTo: string | undefined },
): KubernetesObject | undefined {
  if (movesTo === undefined || !sharesWorkload(movesTo)) return undefined;
  const context = routeContext(canary, undefined);
  const held = (heads.of(namespacedName(canary)).shared ?? []).filter(
    ({ metadata }) => metadata.name === context.names.apex,
  );
  return held.find((object) => isOfRouter(router, object) && router.isSucceededBy?.(context, object));
}

function isOfRouter({ kinds }: Router, { apiVersion, kind }: KubernetesObject): boolean {
  return kinds.some((one) => one.apiVersion === apiVersion && one.kind === kind);
}

/** Live routing objects and Services that a router may look at. */
export function liveRoutes(router: Router, view: NamespaceView, canary: Canary): KubernetesObject[] {
  const { apex } = serviceNames(canary);
  const routes = router.kinds.filter(({ apiVersion, kind }) => {
    return kind !== serviceKind.kind || apiVersion !== serviceKind.apiVersion;
  });
  const kinds = [...routes, serviceKind];
  return kinds.map((kind) => view.get(kind, apex)).filter((object) => object !== undefined);
}

// While traffic moves to a workload that is rolled out in place, what carries it stays as it was written (ADR 21).

/**
 * Routes are written with the spec as it is now, so that a gateway or a name that left it together with the provider would take the requests along.
 * Throws RefusedError then; once the target has all of the traffic, nothing of them is written any more.
 */
export async function refuseOtherRoutes(context: ReadContext): Promise<void> {
  const { canary, view, world } = context.observation;
  if (world.status.move?.handedOverTime !== undefined) return;
  const other = world.route ? undefined : otherService(context);
  const { route } = world;
  const wanted = route ? await wantedRoutes(context, route) : [];
  const changed = wanted.find((object) => {
    const live = view.get(object, object.metadata.name);
    return live !== undefined && !isAsMarked(live, object);
  });
  const found = other ?? changed;
  if (!found) return;
  throw new RefusedError({
    reason: 'TargetInvalid',
    object: describe(canary),
    field: 'spec.service',
    message: `must not change until the Canary has moved to ${world.movesTo}, but ${describe(found)} differs from it; the traffic is unchanged`,
  });
}

/** Made for this Canary under another name: the name went out of the spec. */
function otherService({ observation }: ReadContext): KubernetesObject | undefined {
  const { canary, view } = observation;
  const names = new Set<string>(Object.values(serviceNames(canary)));
  return view
    .list(serviceKind)
    .find(
      ({ metadata }) =>
        !names.has(metadata.name) &&
        metadata.ownerReferences?.some(({ uid }) => uid === canary.metadata.uid) === true,
    );
}
