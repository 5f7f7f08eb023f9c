/** Services and routing objects of a Canary as they are to be written. */
import { describe, type KubernetesObject } from '../../../api/kubernetes.ts';
import type { RouteTarget } from '../../../api/observed.ts';
import { servicePorts } from '../../../release/ports.ts';
import { type ServicePort, templateOf } from '../../../release/release.ts';
import { isDigestLost } from '../../../rollout/records.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { type GeneratedServices, generatedServices } from '../../../workload/service/generated-services.ts';
import { serviceNames } from '../../../workload/shared/names.ts';
import { RefusedError } from '../../../workload/shared/refusal.ts';
import { isAsMarked } from '../../applied.ts';
import { EngineError } from '../../failure.ts';
import { type ReadContext, routerOf } from '../context/context.ts';
import { serviceKind } from '../context/namespace-view.ts';
import { bytesOf } from './releases.ts';
import { keptInGit, labelOf, liveRoutes, routeContext, successorOf } from './routes.ts';

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
  const inGit = keptInGit(parts, observation.canary);
  const more = { apex, successor, inGit, settings: parts.options.routes };
  return router.objects(routeContext(observation.canary, label, more), route, live);
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

/**
 * While traffic moves to a workload that is rolled out in place, Services and routes stay as they were written (ADR 21): they are written with
 * the spec as it is now, and a gateway or a name that left it together with the provider would take the requests along. Throws RefusedError
 * where the spec asks for other ones; once the target has all of the traffic, nothing of them is written any more.
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

/** A Service of this Canary under a name that the spec no longer has. */
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
