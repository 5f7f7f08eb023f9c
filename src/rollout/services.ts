import { trafficAt } from '../api/plan.ts';
import { servingPods } from '../health/readiness.ts';
import type { Action } from './action.ts';
import { canaryServes } from './capacity.ts';
import type { Context } from './context.ts';
import type { Run } from './run.ts';

/**
 * Apex, primary and canary Service, and a route, are there in every state, whatever else is done: what somebody deleted comes back at once,
 * and Services before any traffic is moved to them (design section 4). Costs no request while nothing is missing.
 */
export function withServices(
  context: Context,
  run: Run | undefined,
  actions: readonly Action[],
): readonly Action[] {
  const { world, plan } = context;
  const { primary, target } = world;
  const digest = primary ? primary.digest : target?.digest;
  if (digest === undefined || !isOnRecord(context, digest)) return actions;
  const services = {
    type: 'EnsureServices',
    primaryDigest: digest,
    canaryDigest: canaryDigest(context, run, digest),
  } as const;
  const move = actions.findIndex(({ type }) => type === 'SetTraffic');
  if (move >= 0) return [...actions.slice(0, move), services, ...actions.slice(move)];
  // Who is ready gets it at once (see traffic.ts); where nobody is, it waits for the primary.
  const isReady = servingPods(primary) > 0 || canaryServes(target);
  const route: Action[] = world.route || isReady ? [] : [{ type: 'SetTraffic', route: trafficAt(plan, 0) }];
  return [...actions, services, ...route];
}

/** What the canary's Service is made for. Where nobody can tell what the target runs and nothing is tried, it rests as the primary's. */
function canaryDigest(context: Context, run: Run | undefined, primaryDigest: string): string | undefined {
  const { target, route } = context.world;
  if (target && target.digest === undefined && !run && !route?.canaryWeight) return primaryDigest;
  return target?.digest !== undefined && isOnRecord(context, target.digest) ? target.digest : undefined;
}

/** Its ports can be told, or are known to be lost. */
function isOnRecord({ world, head }: Context, digest: string): boolean {
  return head?.digest === digest || world.records.some((record) => record.digest === digest);
}
