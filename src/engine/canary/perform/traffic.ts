import { isDeepStrictEqual } from 'node:util';
import { describe, isRecord, type KubernetesObject } from '../../../api/kubernetes.ts';
import type { RouteTarget } from '../../../api/observed.ts';
import { covers } from '../../../workload/compare/semantic-compare.ts';
import { serviceNames } from '../../../workload/shared/metadata.ts';
import { withMark } from '../../applied.ts';
import { EngineError, failureOf, isStale, notKept } from '../../failure.ts';
import type { ActionContext, Performers } from '../context/context.ts';
import { serviceKind } from '../context/namespace-view.ts';
import { routerOf } from '../context/observation.ts';
import {
  hasPorts,
  labelOf,
  liveRoutes,
  liveServices,
  readRoute,
  wantedRoutes,
  wantedServices,
} from '../observe/routes.ts';
import { changeByOthers, keepObject, partByOthers } from './put-back.ts';
import { ensureFresh, noteChanged, patchRollout, store } from './write.ts';

/** Services and routing objects between two workloads. */
export const trafficPerformers = {
  /** Apex, primary and canary Service with the ports of what they select (design section 3). */
  async EnsureServices(context, { primaryDigest, canaryDigest }) {
    const { parts, observation } = context;
    // Without target and primary the selector is not known: Services that exist stay, and the other actions go on.
    if (!labelOf(parts, observation.canary, observation)) return false;
    const live = liveServices(context);
    // Services whose ports are lost with their release cannot be written, and nothing waits for them.
    const [ofPrimary, ofCanary] = [primaryDigest, canaryDigest].map((one) =>
      one !== undefined && hasPorts(context, one) ? one : undefined,
    );
    const digest = ofPrimary ?? ofCanary;
    if (digest === undefined) return false;
    const wanted = await wantedServices(context, { primaryDigest: digest, canaryDigest: ofCanary });
    // Primary and canary before the apex: what the apex or a route points to exists first.
    const primary = ofPrimary ? await keepObject(context, wanted.primary, live.primary) : false;
    const canary = wanted.canary ? await keepObject(context, wanted.canary, live.canary) : false;
    if (!ofPrimary) return canary;
    // Where the apex is the traffic, one that is gone comes back by SetTraffic, which knows where to.
    const { apexFollowsTraffic } = routerOf(parts, observation.provider);
    const leavesApex = apexFollowsTraffic && observation.world.route === undefined;
    const apex = leavesApex ? false : await keepObject(context, wanted.apex, live.apex);
    return primary || canary || apex;
  },

  /** Routing objects with these weights. Before a write, workloads and routes are read again (S1, S19). */
  async SetTraffic(context, { route }) {
    const { parts, observation } = context;
    const router = routerOf(parts, observation.provider);
    const live = liveRoutes(router, observation.view, observation.canary);
    const objects = await wantedRoutes(context, route);
    if (router.isTarget) return divideTarget(context, objects);
    if (!router.apexFollowsTraffic) refuseMissing(context, route);
    const pairs = objects.map((wanted) => ({
      wanted,
      over: live.find(({ kind, metadata }) => kind === wanted.kind && metadata.name === wanted.metadata.name),
    }));
    // A mirror that somebody added is beside the fields that are compared, and goes with the list that it is in.
    const isStray = observation.world.route?.mirrored === true && !route.mirrored;
    const pending = pairs.filter(({ wanted, over }) => isStray || !parts.applied.has(over, wanted));
    if (pending.length === 0) return false;
    await ensureFresh(context);
    let wrote = false;
    let routes = live;
    const refused: unknown[] = [];
    for (const { wanted, over } of pending) {
      try {
        const tell = await changeByOthers(context, wanted, over);
        const stored = await store(context, withMark(wanted), over);
        if (noteChanged(context, stored, over)) {
          wrote = true;
          tell();
        }
        routes = [...routes.filter((one) => describe(one) !== describe(stored)), stored];
        parts.applied.note(wanted, stored);
      } catch (error) {
        refused.push(await passOver(context, route, { wanted, over, error }));
      }
    }
    if (refused.length > 0) throw refused[0];
    refuseUnmoved(context, route, routes);
    return wrote;
  },
} satisfies Partial<Performers>;

interface RefusedRoute {
  readonly wanted: KubernetesObject;
  readonly over: KubernetesObject | undefined;
  readonly error: unknown;
}

/**
 * Requests leave a side, maybe since it fails, whatever else of the route cannot be written, as a DestinationRule or a timeout: that goes on as it is.
 * Gives the refusal; throws it where nothing else may be written before that is.
 */
async function passOver(
  context: ActionContext,
  target: RouteTarget,
  refused: RefusedRoute,
): Promise<unknown> {
  const { canaryWeight } = target;
  const leavesSide =
    canaryWeight === 100 || canaryWeight < (context.observation.world.route?.canaryWeight ?? 0);
  const { over, error } = refused;
  if (!over || isStale(error) || !leavesSide) throw error;
  if (!failureOf(error).transient) await moveShare(context, target, { wanted: refused.wanted, over });
  return error;
}

/** Writes the share alone into an object that is otherwise refused. What is refused of that, too, the first refusal tells. */
async function moveShare(
  context: ActionContext,
  target: RouteTarget,
  { wanted, over }: { readonly wanted: KubernetesObject; readonly over: KubernetesObject },
): Promise<void> {
  const { route } = context.observation.world;
  if (!route) return;
  const { primaryWeight, canaryWeight, mirrored, matched } = route;
  const now = await wantedRoutes(context, { ...target, primaryWeight, canaryWeight, mirrored, matched });
  const from = now.find(
    ({ kind, metadata }) => kind === wanted.kind && metadata.name === wanted.metadata.name,
  );
  if (!from || isDeepStrictEqual(from, wanted)) return;
  const part = ({ spec, metadata: { annotations = {} } }: KubernetesObject) => ({
    spec,
    metadata: { annotations },
  });
  const patch = withChange(part(over), part(from), part(wanted)) as ReturnType<typeof part>;
  await patchRollout(context, over, patch).catch(() => false);
}

/** What `live` is with that which `to` changes of `from`. A list that has other elements besides, as ports of others, stays as it is. */
export function withChange(live: unknown, from: unknown, to: unknown): unknown {
  if (isDeepStrictEqual(from, to)) return live;
  if (isRecord(live) && isRecord(from) && isRecord(to)) {
    const stays = Object.entries(live).filter(([key]) => key in to || !(key in from));
    const changed = Object.keys(to).map((key) => [key, withChange(live[key], from[key], to[key])] as const);
    return Object.fromEntries([...stays, ...changed.filter(([, value]) => value !== undefined)]);
  }
  if (!Array.isArray(live) || !Array.isArray(from) || !Array.isArray(to)) return to;
  if (live.length !== from.length) return live;
  return from.length === to.length ? to.map((one, index) => withChange(live[index], from[index], one)) : to;
}

/** The share that was to change is as before: it would be written again and again. Throws EngineError ForeignChange. */
function refuseUnmoved(
  { parts, observation }: ActionContext,
  { canaryWeight }: RouteTarget,
  routes: readonly KubernetesObject[],
): void {
  const { canary, view, provider, world } = observation;
  const context = { parts, canary, view, provider, movesTo: world.movesTo };
  const now = readRoute(context, observation, routes)?.canaryWeight;
  const stored = routes.at(-1);
  if (!stored || now === canaryWeight || now === undefined || now !== world.route?.canaryWeight) return;
  throw notKept(`${describe(stored)}: the canary has ${now} %, not ${canaryWeight} %,`);
}

/** Requests to a Service that does not exist fail: the traffic stays until there is one. Throws EngineError ServiceMissing. */
function refuseMissing({ observation }: ActionContext, route: RouteTarget): void {
  const { canary, view } = observation;
  // Requests go to other backends, so that both sides may be named.
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
  // Before the first release is good, the requests are divided as whoever made the target wanted it.
  const isKept = context.observation.canary.status?.lastKnownGood !== undefined;
  let wrote = false;
  for (const { spec } of pending) {
    const tell = isKept ? await partByOthers(context, target, { spec }) : undefined;
    if (!(await patchRollout(context, target, { spec }))) continue;
    wrote = true;
    tell?.();
  }
  return wrote;
}
