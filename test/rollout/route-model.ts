import type { RouteTarget, RouteView } from '../../src/api/observed.ts';
import { SETTLE_MS } from '../../src/rollout/context.ts';
import type { Violation } from './invariants.ts';

/**
 * What is read of a route that was written so, or of one that was read before; `inGit`: backends of others are those that Git puts in its
 * place, and lead to the target.
 */
export function routeRead(route: RouteTarget & Partial<RouteView>, inGit: boolean): RouteView {
  if (route.others !== 'serving') return { accepted: true, ...route };
  const share = { primaryWeight: inGit ? 0 : 100, canaryWeight: inGit ? 100 : 0 };
  return { ...share, mirrored: false, matched: false, others: 'serving', accepted: inGit };
}

/** A route that was there before: backends of others alone. */
export const ALONE: RouteView = {
  ...{ primaryWeight: 100, canaryWeight: 0, mirrored: false, matched: false, accepted: false },
  ...{ others: 'alone', problem: 'no rule has weights' },
};

/** Shares of the two sides, and whether requests go to the target by backends of others. */
export function servedBy({ primaryWeight, matched, canaryWeight, others }: RouteView) {
  if (others === 'alone' || others === 'serving') return { primary: false, target: true };
  return { primary: primaryWeight > 0 || matched, target: canaryWeight > 0 };
}

/** Which backends have requests, and which are named, in the order in which that may change. */
function stageOf(route: RouteView | undefined): number {
  return route?.others === undefined ? 3 : { alone: 0, serving: 1, idle: 2 }[route.others];
}

/** Where a route stands, since when. */
export interface BackendStage {
  stage: number;
  sinceMs: number;
}

/** Before anything was seen. */
export function newBackendStage(): BackendStage {
  return { stage: 3, sinceMs: Number.NEGATIVE_INFINITY };
}

/** Looks that each backend is named for a while before it gets requests, and after it had its last; notes where the route stands. */
export function seeBackends(
  seen: BackendStage,
  { route, inGit, nowMs }: { route: RouteView | undefined; inGit: boolean; nowMs: number },
): Violation[] {
  const stage = stageOf(route);
  const { stage: before, sinceMs } = seen;
  if (stage === before) return [];
  Object.assign(seen, { stage, sinceMs: nowMs });
  const isNext = Math.abs(stage - before) === 1;
  // Naming takes no request from anybody, so that it needs no time before it.
  const isNaming = (before === 0 && stage === 1) || (inGit && before === 3 && stage === 2);
  const passedMs = nowMs - sinceMs;
  if (!Number.isFinite(passedMs) || (isNext && (isNaming || passedMs >= SETTLE_MS))) return [];
  return [{ rule: 'S2', detail: `backends of others from stage ${before} to ${stage} after ${passedMs} ms` }];
}
