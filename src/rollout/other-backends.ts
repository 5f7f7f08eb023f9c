/**
 * A route that names backends of somebody else, too: proxies hear of a route and of the backends that it names by separate ways, so that one
 * is named with weight 0 for a while before it gets requests, and after it had its last (S2).
 */
import { act, type Draft, now, remainingMs } from './draft.ts';
import { ALL_TO_CANARY } from './plan.ts';
import { SETTLE_MS } from './standing.ts';
import type { World } from './world.ts';

/** Requests do not go to the two sides yet, but to backends that were there before. */
export function othersServe({ world }: Draft): boolean {
  const { others } = world.route ?? {};
  return others === 'alone' || (others === 'serving' && world.routeInGit !== true);
}

/** Once per step: every move of traffic takes these backends along, one settled state after the other. */
export function keepOthers(draft: Draft): void {
  const { world, status, actions } = draft;
  const others = world.sharesWorkload ? undefined : world.route?.others;
  if (others === undefined) return void delete status.otherBackends;
  const before = status.otherBackends;
  status.otherBackends = before?.state === others ? before : { state: others, since: now(draft) };
  const isSettled = remainingMs(draft, status.otherBackends.since, SETTLE_MS) === 0;
  for (const [index, action] of actions.entries()) {
    if (action.type !== 'SetTraffic' || action.route.others) continue;
    const next = {
      alone: 'serving',
      serving: isSettled ? 'idle' : 'serving',
      idle: isSettled ? undefined : 'idle',
    } as const;
    actions[index] = { ...action, route: { ...action.route, others: next[others] } };
  }
}

/**
 * Git's own route comes into force when the Canary lets go of it: its backends take the requests over before that. True once they have them,
 * for as long as the proxies take to hear of it; so it is where Git holds no such route.
 */
export function handsOverToGit(draft: Draft): boolean {
  const { world, status } = draft;
  if (isUnread(world)) return false;
  if (!world.routeInGit) return true;
  const others = world.route?.others;
  const { otherBackends } = status;
  const isSettled =
    otherBackends?.state === others && remainingMs(draft, otherBackends?.since, SETTLE_MS) === 0;
  if (others === 'serving') return isSettled;
  const next = others === 'idle' && isSettled ? 'serving' : 'idle';
  act(draft, { type: 'SetTraffic', route: { ...ALL_TO_CANARY, others: next } });
  return false;
}

/** While Git cannot be read, nobody knows whose these backends are. */
export function awaitsGit({ world }: Draft): boolean {
  return world.route?.others !== undefined && isUnread(world);
}

function isUnread({ head }: World): boolean {
  return head.kind === 'unknown' && head.reason !== 'NoSource';
}
