/**
 * A route that names backends of somebody else, too: proxies hear of a route and of the backends that it names by separate ways, so that one
 * is named with weight 0 for a while before it gets requests, and after it had its last (S2).
 */
import { ALL_TO_CANARY } from '../../api/canary/plan.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import type { Action } from '../action.ts';
import { type Context, remainingMs } from '../context.ts';
import { act, type Effects, wake } from '../outcome.ts';
import { SETTLE_MS } from '../progress.ts';
import type { World } from '../world.ts';

/** Requests do not go to the two sides yet, but to backends that were there before. */
export function otherBackendsServe({ route, routeInGit }: World): boolean {
  const { others } = route ?? {};
  return others === 'alone' || (others === 'serving' && routeInGit !== true);
}

/** Every move of traffic takes these backends along, one settled state after the other. Gives the actions as they are to be done, and the stamp. */
export function keepOtherBackends(
  context: Context,
  actions: readonly Action[],
): { actions: readonly Action[]; otherBackends: CanaryStatus['otherBackends']; wakeMs: number } {
  const { world, now } = context;
  const others = world.sharesWorkload ? undefined : world.route?.others;
  if (others === undefined) return { actions, otherBackends: undefined, wakeMs: 0 };
  const before = world.status.otherBackends;
  const otherBackends = before?.state === others ? before : { state: others, since: now };
  const wakeMs = remainingMs(context, otherBackends.since, SETTLE_MS);
  const isSettled = wakeMs === 0;
  const next = {
    alone: 'serving',
    serving: isSettled ? 'idle' : 'serving',
    idle: isSettled ? undefined : 'idle',
  } as const;
  const kept = actions.map((action) =>
    action.type === 'SetTraffic' && !action.route.others
      ? { ...action, route: { ...action.route, others: next[others] } }
      : action,
  );
  return { actions: kept, otherBackends, wakeMs };
}

/**
 * Git's own route comes into force when the Canary lets go of it: its backends take the requests over before that. `isOver` once they have them,
 * for as long as the proxies take to hear of it; so it is where Git holds no such route.
 */
export function handsOverToGit(context: Context): { readonly isOver: boolean; readonly effects: Effects } {
  const { world } = context;
  if (isUnread(world)) return { isOver: false, effects: {} };
  if (!world.routeInGit) return { isOver: true, effects: {} };
  const others = world.route?.others;
  const { otherBackends } = world.status;
  const leftMs =
    otherBackends?.state === others ? remainingMs(context, otherBackends?.since, SETTLE_MS) : SETTLE_MS;
  if (others === 'serving') return { isOver: leftMs === 0, effects: wake(leftMs) };
  const next = others === 'idle' && leftMs === 0 ? ('serving' as const) : ('idle' as const);
  return {
    isOver: false,
    effects: { ...act({ type: 'SetTraffic', route: { ...ALL_TO_CANARY, others: next } }), ...wake(leftMs) },
  };
}

/** While Git cannot be read, nobody knows whose these backends are. */
export function awaitsGit(world: World): boolean {
  return world.route?.others !== undefined && isUnread(world);
}

function isUnread({ head }: World): boolean {
  return head.kind === 'unknown' && head.reason !== 'NoSource';
}
