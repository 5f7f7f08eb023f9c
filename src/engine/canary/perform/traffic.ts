import { type KubernetesObject, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import type { RouteTarget } from '../../../api/observed.ts';
import { isDigestLost } from '../../../rollout/records.ts';
import { covers } from '../../../workload/compare/semantic-compare.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { serviceNames } from '../../../workload/shared/names.ts';
import { sideNames } from '../../../workload/sides.ts';
import { withMark } from '../../applied.ts';
import { EngineError } from '../../failure.ts';
import type { ActionContext, Performer } from '../context/context.ts';
import { serviceKind } from '../context/namespace-view.ts';
import {
  hasPorts,
  labelOf,
  liveRoutes,
  liveServices,
  routerOf,
  wantedRoutes,
  wantedServices,
} from '../observe/routes.ts';
import { applyCanary } from './workloads.ts';
import { applyRollout, ensureFresh } from './write.ts';

/** Apex, primary and canary Service with the ports of what they select (design section 3). */
export const ensureServices: Performer<'EnsureServices'> = async (
  context,
  { primaryDigest, canaryDigest },
) => {
  const { parts, observation } = context;
  const { sides } = workloadKind(observation.canary);
  if (sides === 'copies') return ensureCanaryCopy(context, canaryDigest ?? primaryDigest);
  if (sides === 'revisions') return false;
  // Neither the cluster nor Git has the target, so that nobody can tell what to select: what is there stays, and the rest goes on.
  if (!labelOf(parts, observation.canary, observation.target)) return false;
  const live = liveServices(context);
  // Services whose ports are lost with their release cannot be made, and nothing waits for them.
  const known = [primaryDigest, canaryDigest].map((one) =>
    one !== undefined && hasPorts(context, one) ? one : undefined,
  );
  const [ofPrimary, ofCanary] = known;
  const digest = ofPrimary ?? ofCanary;
  if (digest === undefined) return false;
  const generated = await wantedServices(context, { primaryDigest: digest, canaryDigest: ofCanary });
  // Primary and canary before the apex: what the apex or a route points to exists first.
  const primary = ofPrimary ? await applyRollout(context, generated.primary, live.primary, withMark) : false;
  const canary = generated.canary
    ? await applyRollout(context, generated.canary, live.canary, withMark)
    : false;
  if (!ofPrimary) return canary;
  const apex = leavesApex(context) ? false : await applyRollout(context, generated.apex, live.apex, withMark);
  return primary || canary || apex;
};

/**
 * A route names both sides from its start: the canary's is there, at rest, before any release uses it. The primary is there already, and what
 * this very step has written is no longer missing.
 */
async function ensureCanaryCopy(context: ActionContext, digest: string): Promise<boolean> {
  const { canary, target, view, world } = context.observation;
  if (target || isDigestLost(world, digest) || view.get(workloadKind(canary), sideNames(canary).canary))
    return false;
  return applyCanary(context, { type: 'ApplyCanary', digest, replicas: 0 });
}

/** Where the apex is the traffic, one that is gone comes back by SetTraffic, which knows where to. */
function leavesApex({ parts, observation }: ActionContext): boolean {
  const { apexFollowsTraffic } = routerOf(parts, observation.provider);
  return apexFollowsTraffic && observation.world.route === undefined;
}

/** Routing objects with these weights. When something is to be written, everything is looked at anew first (S1, S19). */
export const setTraffic: Performer<'SetTraffic'> = async (context, { route }) => {
  const { parts, observation } = context;
  const router = routerOf(parts, observation.provider);
  const live = liveRoutes(router, observation.view, observation.canary);
  const objects = await wantedRoutes(context, route);
  if (router.isTarget) return divideTarget(context, objects);
  if (!router.apexFollowsTraffic) refuseMissing(context, route);
  const pending = objects.filter((object) => !parts.applied.has(liveOf(live, object), object));
  if (pending.length === 0) return false;
  await ensureFresh(context);
  for (const object of pending) await applyRollout(context, object, liveOf(live, object), withMark);
  return true;
};

/** Requests that are sent to a Service that is not there fail: the traffic stays where it is until there is one. Throws EngineError ServiceMissing. */
function refuseMissing({ observation }: ActionContext, route: RouteTarget): void {
  const { canary, view } = observation;
  // Both sides are named, and others have the requests.
  if (route.others !== undefined && route.others !== 'idle') return;
  const names = serviceNames(canary);
  const used = [
    ...(route.primaryWeight > 0 || route.matched ? [names.primary] : []),
    ...(route.canaryWeight > 0 || route.mirrored ? [names.canary] : []),
  ];
  const missing = used.find((name) => view.get(serviceKind, name) === undefined);
  if (missing === undefined) return;
  const message = `Service ${view.namespace}/${missing} does not exist; no requests are sent to it`;
  throw new EngineError('ServiceMissing', message, true);
}

/** A target that divides the requests itself: other fields of it are written elsewhere, so that this is a patch of the traffic alone. */
async function divideTarget(context: ActionContext, objects: readonly KubernetesObject[]): Promise<boolean> {
  const { target } = context.observation;
  const pending = objects.filter((object) => target && !covers(target, object));
  if (!target || pending.length === 0) return false;
  await ensureFresh(context);
  for (const { spec } of pending)
    await context.parts.cluster.patch(referenceOf(target), { metadata: versionOf(target), spec });
  return true;
}

function liveOf(live: readonly KubernetesObject[], wanted: KubernetesObject): KubernetesObject | undefined {
  return live.find((object) => object.kind === wanted.kind && object.metadata.name === wanted.metadata.name);
}
