import { canaryServes } from './capacity.ts';
import { act, type Draft } from './draft.ts';
import { trafficAt } from './plan.ts';
import { servingPods } from './readiness.ts';
import { headRelease } from './run.ts';
import type { World } from './world.ts';

/**
 * Apex, primary and canary Service, and a route, are there in every state, whatever else is done: what somebody deleted comes back at once,
 * and Services before any traffic is moved to them (design section 4). Costs no request while nothing is missing.
 */
export function keepServices(draft: Draft): void {
  const { world, actions, plan } = draft;
  const { primary, target } = world;
  const digest = primary ? primary.digest : target?.digest;
  if (digest === undefined || !isOnRecord(world, digest)) return;
  // Who is ready gets it at once (see rescueTraffic); where nobody is, it waits for the primary.
  const isReady = servingPods(primary) > 0 || canaryServes(target);
  if (!world.route && !isReady && moveIn(draft) < 0)
    act(draft, { type: 'SetTraffic', route: trafficAt(plan, 0) });
  const services = {
    type: 'EnsureServices',
    primaryDigest: digest,
    canaryDigest: canaryDigest(draft, digest),
  } as const;
  const move = moveIn(draft);
  actions.splice(move < 0 ? actions.length : move, 0, services);
}

/** What the canary's Service is made for. Where nobody can tell what the target runs and nothing is tried, it rests as the primary's. */
function canaryDigest({ world, run }: Draft, primaryDigest: string): string | undefined {
  const { target, route } = world;
  if (target && target.digest === undefined && !run && !route?.canaryWeight) return primaryDigest;
  return target?.digest !== undefined && isOnRecord(world, target.digest) ? target.digest : undefined;
}

/** Index of the first move of traffic; -1 when there is none. */
function moveIn({ actions }: Draft): number {
  return actions.findIndex(({ type }) => type === 'SetTraffic');
}

/** Its ports can be told, or are known to be lost. */
function isOnRecord(world: World, digest: string): boolean {
  return headRelease(world)?.digest === digest || world.records.some((record) => record.digest === digest);
}
