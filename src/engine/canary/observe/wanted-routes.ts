import { describe, type KubernetesObject, namespacedName } from '../../../api/kubernetes.ts';
import type { RouteTarget } from '../../../api/observed.ts';
import { servicePorts } from '../../../release/ports.ts';
import { type ServicePort, templateOf } from '../../../release/release.ts';
import { isDigestLost } from '../../../rollout/world.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { type GeneratedServices, generatedServices } from '../../../workload/service/generated-services.ts';
import { EngineError } from '../../failure.ts';
import type { ReadContext } from '../context/observation.ts';
import { routerOf } from '../context/routers.ts';
import { bytesOf } from './releases.ts';
import { labelOf, liveRoutes, liveServices, neighboursOf, routeContext, successorOf } from './routes.ts';

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
  // The route that `spec.routeRef` names, as Git holds it; undefined: Git is not known, or holds none.
  const { kind, name } = observation.canary.spec.routeRef ?? {};
  const held = parts.heads.of(namespacedName(observation.canary)).shared ?? [];
  const inGit = held.find((object) => object.kind === kind && object.metadata.name === name);
  const neighbours = neighboursOf(parts, observation.canary);
  const more = { apex, successor, inGit, neighbours, settings: parts.options.routes };
  return router.objects(routeContext(observation.canary, label, more), route, live);
}

function requiredLabel({ parts, observation }: ReadContext) {
  const label = labelOf(parts, observation.canary, observation.target);
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
