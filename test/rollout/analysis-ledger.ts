import type { Canary } from '../../src/api/canary.ts';
import { hooksOf } from '../../src/api/hooks.ts';
import type { Action, CheckRequest } from '../../src/rollout/action.ts';
import type { Violation } from '../../src/rollout/invariants.ts';
import { lastKnownGood, runOf } from '../../src/rollout/run.ts';
import type { CheckOutcome, World } from '../../src/rollout/world.ts';

/** Requests of people that leave checks out. */
const leavesOut = ['promote', 'skip-step'].map((verb) => `holdfast.dev/${verb}`);

/**
 * Which checks of an analysis passed, and at which share of the canary: `digest` and `digest/share`. Written down as they are answered, so that
 * the core is not judged by its own bookkeeping.
 */
export type PassedChecks = Set<string>;

/** Writes down an answer that came while the cluster was like this. */
export function noteAnswer(
  passed: PassedChecks,
  { status, route }: World,
  { role, purpose, hooks }: CheckRequest,
  outcome: CheckOutcome,
): void {
  const digest = runOf(status)?.digest;
  if (role !== 'canary' || purpose !== 'analysis' || digest === undefined) return;
  const isWhole = outcome.readings.length > 0 || hooks.includes('rollout');
  const metrics = outcome.readings.every(({ reading }) => reading.kind === 'value' && reading.value >= 99);
  const webhooks = outcome.hooks.every(({ type, verdict }) => type !== 'rollout' || verdict === 'approved');
  if (isWhole && metrics && webhooks) passed.add(`${digest}/${route?.canaryWeight ?? 0}`).add(digest);
}

/**
 * What the action would do before its check passed (S4, S5): a share rises further, and a release reaches the primary, only after one that
 * passed. A share that goes back to nothing begins anew.
 */
export function withoutCheck(passed: PassedChecks, world: World, action: Action): Violation[] {
  const { route, status } = world;
  const digest = runOf(status)?.digest;
  if (digest === undefined || !isAnalysed(world, digest)) return [];
  if (action.type === 'SetTraffic') {
    const [before, after] = [route?.canaryWeight ?? 0, action.route.canaryWeight];
    if (status.phase !== 'Progressing' || before === 0) return [];
    if (after === 0) forget(passed, digest);
    if (after <= before || servesAlone(world) || passed.has(`${digest}/${before}`)) return [];
    return [{ rule: 'S4', detail: `${before} % -> ${after} % of ${digest} before a check passed there` }];
  }
  const isNew = action.type === 'ApplyPrimary' && action.digest === digest;
  if (!isNew || world.primary?.digest === digest || passed.has(digest)) return [];
  return [{ rule: 'S5', detail: `${digest} reaches the primary, and no check of it passed` }];
}

function forget(passed: PassedChecks, digest: string): void {
  for (const key of [...passed]) if (key === digest || key.startsWith(`${digest}/`)) passed.delete(key);
}

/** Whether the release under way must be analysed, and has something to be asked. */
function isAnalysed(world: World, digest: string): boolean {
  const { canary, status } = world;
  const run = runOf(status);
  const isAsked = leavesOut.some((key) => canary.metadata.annotations?.[key] !== undefined);
  const isExcused = run?.fastLane || run?.throughPrimary || run?.revert !== undefined || run?.rollback;
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
