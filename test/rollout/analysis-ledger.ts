import { type Canary, hooksOf } from '../../src/api/canary/canary.ts';
import type { CheckOutcome, CheckRequest } from '../../src/api/observed.ts';
import type { Action } from '../../src/rollout/outcome.ts';
import { lastKnownGood, runOf, type World } from '../../src/rollout/world.ts';
import type { Violation } from './invariants.ts';

/** Requests of people that leave checks out. */
const leavesOut = ['promote', 'skip-step'].map((verb) => `holdfast.dev/${verb}`);

/**
 * Which checks of an analysis passed, and at which share of the canary: `digest` and `digest/share`. Written down as they are answered, so that
 * the core is not judged by its own bookkeeping.
 */
export type PassedChecks = Set<string>;

/** A person asks that this release goes on without a check. */
export function isLetThrough({ metadata }: Canary, digest: string): boolean {
  return leavesOut.some((key) => metadata.annotations?.[key]?.startsWith(`${digest}@`));
}

/** Writes down an answer that came while the cluster was like this. */
export function noteAnswer(
  passed: PassedChecks,
  { status, route }: World,
  { role, purpose, hooks }: CheckRequest,
  outcome: CheckOutcome,
): void {
  const digest = runOf(status)?.digest;
  if (purpose !== 'analysis' || digest === undefined) return;
  const isWhole = outcome.readings.length > 0 || hooks.includes('rollout');
  const metrics = outcome.readings.every(({ reading }) => reading.kind === 'value' && reading.value >= 99);
  const webhooks = outcome.hooks.every(({ type, verdict }) => type !== 'rollout' || verdict === 'approved');
  if (!isWhole || !metrics || !webhooks) return;
  const weight = route?.canaryWeight ?? 0;
  if (role === 'canary') passed.add(`${digest}/${weight}`).add(digest);
  else passed.add(onPrimary(digest, 100 - weight)).add(onPrimary(digest));
}

/**
 * What the action would do before its check passed (S4, S5): a share rises further, and a release reaches the primary, only after one that
 * passed. A share that goes back to nothing begins anew.
 */
export function withoutCheck(passed: PassedChecks, world: World, action: Action): Violation[] {
  const { route, status } = world;
  const digest = runOf(status)?.digest;
  if (digest === undefined || runOf(status)?.side === 'primary' || !isAnalysed(world, digest)) return [];
  if (action.type === 'SetTraffic') {
    if (status.phase !== 'Progressing') return [];
    return raisedUnchecked(passed, world, {
      digest,
      before: route?.canaryWeight ?? 0,
      after: action.route.canaryWeight,
    });
  }
  const isNew = action.type === 'ApplyPrimary' && action.digest === digest;
  if (!isNew || world.primary?.digest === digest || passed.has(digest)) return [];
  return [{ rule: 'S5', detail: `${digest} reaches the primary, and no check of it passed` }];
}

function raisedUnchecked(
  passed: PassedChecks,
  world: World,
  { digest, before, after }: { digest: string; before: number; after: number },
): Violation[] {
  // Where iterations count, a share that somebody else lowered is put back.
  const given = `${digest}/given ${after}`;
  const isPutBack = world.canary.spec.analysis?.iterations !== undefined && passed.has(given);
  passed.add(given);
  if (before === 0 || isPutBack) return [];
  if (after === 0) forget(passed, digest);
  if (after <= before || servesAlone(world) || passed.has(`${digest}/${before}`)) return [];
  return [{ rule: 'S4', detail: `${before} % -> ${after} % of ${digest} before a check passed there` }];
}

/** A release that was tried on the primary, at this share of it. */
function onPrimary(digest: string, share?: number): string {
  return share === undefined ? `primary:${digest}` : `primary:${digest}/${share}`;
}

/**
 * The same for a release that goes through the primary (S4, S5): it is written there while the canary has all traffic, its share rises
 * only after a check at the one it has, and it gets all of the traffic only after one passed.
 */
export function withoutCheckOnPrimary(passed: PassedChecks, world: World, action: Action): Violation[] {
  const { route, primary, target } = world;
  const digest = runOf(world.status)?.digest;
  const isReady = (copy: typeof primary) => (copy?.readyReplicas ?? 0) > 0;
  if (digest === undefined || !isAnalysed(world, digest) || passed.has(digest) || !route) return [];
  // Nobody else serves.
  if (!isReady(target) && (!isReady(primary) || primary?.digest === digest)) return [];
  const isOnCanary = route.canaryWeight === 100 && !route.matched && route.accepted;
  if (action.type === 'ApplyPrimary' && action.digest === digest && primary?.digest !== digest && !isOnCanary)
    return [{ rule: 'S5', detail: `${digest} is written to a primary with traffic, and no check passed` }];
  if (action.type !== 'SetTraffic' || primary?.digest !== digest) return [];
  const [before, after] = [100 - route.canaryWeight, 100 - action.route.canaryWeight];
  if (after <= before) return [];
  const isUnchecked =
    (before > 0 && !passed.has(onPrimary(digest, before))) ||
    (after === 100 && !passed.has(onPrimary(digest)));
  return isUnchecked
    ? [{ rule: 'S4', detail: `the primary with ${digest}: ${before} % -> ${after} % before a check passed` }]
    : [];
}

function forget(passed: PassedChecks, digest: string): void {
  for (const key of [...passed]) if (key === digest || key.startsWith(`${digest}/`)) passed.delete(key);
}

/** Whether the release under way must be analysed, and has something to be asked. */
function isAnalysed(world: World, digest: string): boolean {
  const { canary, status } = world;
  const run = runOf(status);
  const isAsked = leavesOut.some((key) => canary.metadata.annotations?.[key] !== undefined);
  const isExcused = run?.fastLane || run?.revert !== undefined || run?.rollback;
  const isBootstrap = lastKnownGood(world) === undefined || lastKnownGood(world)?.digest === digest;
  return hasChecks(canary) && canary.spec.skipAnalysis !== true && !isAsked && !isExcused && !isBootstrap;
}

function hasChecks(canary: Canary): boolean {
  return (canary.spec.analysis.metrics ?? []).length > 0 || hooksOf(canary, 'rollout').length > 0;
}

/** The share goes to whoever is left (S1). */
function servesAlone({ primary }: World): boolean {
  return (primary?.readyReplicas ?? 0) === 0;
}
