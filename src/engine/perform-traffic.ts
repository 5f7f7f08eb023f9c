import { describe, type KubernetesObject } from '../api/kubernetes.ts';
import type { ServicePort } from '../release/release.ts';
import { isLostDigest } from '../rollout/kept.ts';
import { serviceNames } from '../workload/names.ts';
import { services } from '../workload/services.ts';
import type { ActionContext, Performer } from './action-context.ts';
import { EngineError } from './failure.ts';
import { serviceKind } from './namespace-view.ts';
import { labelOf, liveRoutes, routeContext, routerOf } from './observe.ts';
import { bytesOf } from './releases.ts';
import { applyRollout, ensureFresh } from './write.ts';

/** Apex, primary and canary Service with the ports of what they select (design section 3). */
export const ensureServices: Performer<'EnsureServices'> = async (
  context,
  { primaryDigest, canaryDigest },
) => {
  const live = liveServices(context);
  const generated = services({
    canary: context.observation.canary,
    label: requiredLabel(context),
    ports: await portsOf(context, primaryDigest),
    canaryPorts: canaryDigest === undefined ? undefined : await portsOf(context, canaryDigest),
    apexSelects: apexSelects(context),
    live,
  });
  // Primary and canary before the apex: what the apex or a route points to exists first.
  const primary = await applyRollout(context, generated.primary, live.primary);
  const canary = generated.canary ? await applyRollout(context, generated.canary, live.canary) : false;
  const apex = await applyRollout(context, generated.apex, live.apex);
  return primary || canary || apex;
};

/** Routing objects with these weights. When something is to be written, everything is looked at anew first (S1, S19). */
export const setTraffic: Performer<'SetTraffic'> = async (context, { route }) => {
  const { parts, observation } = context;
  const router = routerOf(parts, observation.provider);
  const live = liveRoutes(router, observation.view, observation.canary);
  const apex = router.apexFollowsTraffic ? await apexService(context) : undefined;
  const asked = routeContext(observation.canary, requiredLabel(context), apex);
  const objects = asked ? router.objects(asked, route, live) : [];
  const pending = objects.filter((object) => !parts.applied.has(liveOf(live, object), object));
  if (pending.length === 0) return false;
  await ensureFresh(context);
  for (const object of pending) await applyRollout(context, object, liveOf(live, object));
  return true;
};

function requiredLabel({ parts, observation }: ActionContext) {
  const label = labelOf(parts, observation.canary, observation.target);
  if (label) return label;
  const { kind, name } = observation.canary.spec.targetRef;
  throw new EngineError('TargetMissing', `spec.targetRef: ${kind} ${name} does not exist yet`, true);
}

function liveServices({ observation }: ActionContext) {
  const names = serviceNames(observation.canary);
  const get = (name: string) => observation.view.get(serviceKind, name);
  return { apex: get(names.apex), primary: get(names.primary), canary: get(names.canary) };
}

/** The apex keeps pointing where the traffic is; only SetTraffic moves it, and the primary's end where a route is before it. */
function apexSelects({ parts, observation }: ActionContext): 'primary' | 'canary' {
  const { apexFollowsTraffic } = routerOf(parts, observation.provider);
  const isGoing = observation.canary.metadata.deletionTimestamp !== undefined;
  return (apexFollowsTraffic || isGoing) && observation.world.route?.canaryWeight === 100
    ? 'canary'
    : 'primary';
}

/** The apex Service as EnsureServices writes it, with the ports of the release that the primary runs. */
async function apexService(context: ActionContext): Promise<KubernetesObject> {
  const { world, canary } = context.observation;
  const digest = world.primary?.digest;
  if (digest === undefined)
    throw new EngineError('PrimaryMissing', `${describe(canary)}: the primary does not exist yet`, true);
  return services({
    canary,
    label: requiredLabel(context),
    ports: await portsOf(context, digest),
    canaryPorts: undefined,
    apexSelects: apexSelects(context),
    live: liveServices(context),
  }).apex;
}

async function portsOf(context: ActionContext, digest: string): Promise<readonly ServicePort[]> {
  const { ports } = context.parts;
  const known = ports.get(digest);
  if (known) return known;
  if (isLostDigest(context.observation.world, digest)) {
    const live = livePorts(context, digest);
    if (live) return live;
  }
  const { release } = await bytesOf(context, digest);
  ports.set(digest, release.ports);
  return release.ports;
}

/** Ports of a workload whose release is lost, as its generated Service carries them: what is there stays as it is. */
function livePorts(context: ActionContext, digest: string): readonly ServicePort[] | undefined {
  const { world } = context.observation;
  const { primary, canary } = liveServices(context);
  const service = world.primary?.digest === digest ? primary : canary;
  const ports = (service?.spec as { ports?: Array<ServicePort & { nodePort?: number }> } | undefined)?.ports;
  return ports?.map(({ nodePort: _, ...port }) => port);
}

function liveOf(live: readonly KubernetesObject[], wanted: KubernetesObject): KubernetesObject | undefined {
  return live.find((object) => object.kind === wanted.kind && object.metadata.name === wanted.metadata.name);
}
