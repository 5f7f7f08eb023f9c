/**
 * A route that also names backends of other Services. Proxies learn of a route and of its backends separately, so that a backend has
 * weight 0 for a while before it gets requests and after it got the last one (S2).
 */
import { ALL_TO_CANARY } from '../../api/canary/plan.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { type Context, SETTLE_MS, untilSettledMs } from '../context.ts';
import { type Action, act, type Effects, wake } from '../outcome.ts';
import type { World } from '../world.ts';

/** Moves these backends with every move of traffic, one state after the other, each after the data plane had time to follow. Returns the actions with them, and the status field. */
export function keepOtherBackends(
  context: Context,
  actions: readonly Action[],
): { actions: readonly Action[]; otherBackends: CanaryStatus['otherBackends']; wakeMs: number } {
  const { world, now } = context;
  const others = world.sharesWorkload ? undefined : world.route?.others;
  if (others === undefined) return { actions, otherBackends: undefined, wakeMs: 0 };
  const before = world.status.otherBackends;
  const otherBackends = before?.state === others ? before : { state: others, since: now };
  const wakeMs = untilSettledMs(context, otherBackends.since);
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
 * Git's own route takes effect when the Canary releases it: its backends get the requests before that. `isDone` when they have had them for as
 * long as proxies need to follow, or if Git holds no such route.
 */
export function handOverToGit(context: Context): { readonly isDone: boolean; readonly effects: Effects } {
  const { world } = context;
  if (isUnread(world)) return { isDone: false, effects: {} };
  if (!world.routeInGit) return { isDone: true, effects: {} };
  const others = world.route?.others;
  const { otherBackends } = world.status;
  const leftMs = otherBackends?.state === others ? untilSettledMs(context, otherBackends?.since) : SETTLE_MS;
  if (others === 'serving') return { isDone: leftMs === 0, effects: wake(leftMs) };
  const next = others === 'idle' && leftMs === 0 ? ('serving' as const) : ('idle' as const);
  return {
    isDone: false,
    effects: { ...act({ type: 'SetTraffic', route: { ...ALL_TO_CANARY, others: next } }), ...wake(leftMs) },
  };
}

/** While Git cannot be read, it is unknown whether these backends are Git's. */
export function awaitsGit(world: World): boolean {
  return world.route?.others !== undefined && isUnread(world);
}

function isUnread({ head }: World): boolean {
  return head.kind === 'unknown' && head.reason !== 'NoSource';
}
