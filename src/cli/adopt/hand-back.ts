import { planOf } from '../../api/plan.ts';
import { hasConverged, whyNotReady } from '../../health/readiness.ts';
import { contextOf } from '../../rollout/context.ts';
import { lastKnownGood, rejectionOf, runOf } from '../../rollout/run.ts';
import type { World } from '../../rollout/world.ts';

/** Whether a Canary may be given back to Flagger now, and why (not). `notOurs`: Holdfast never took it over. */
export interface HandBack {
  readonly outcome: 'handedBack' | 'notOurs' | 'refused';
  readonly why: string;
}

/**
 * What Flagger may be given: a Canary at rest whose primary runs what the target holds. In phase Initializing Flagger takes the target's template and
 * config as promoted without looking at them (flagger-behaviour 2.2, 14), so that a revision nobody analysed must not be there. Pure.
 */
export function judgeHandBack(world: World): HandBack {
  const { canary, status, primary } = world;
  if (canary.metadata.deletionTimestamp !== undefined) return refused('it is being deleted');
  if (primary?.digest === undefined)
    return { outcome: 'notOurs', why: 'Holdfast did not take it over: Flagger finds it as it left it' };
  if (runOf(status))
    return refused(
      `a release is under way (${status.message ?? status.phase}); let it end, or stop it with holdfast abort`,
    );
  const problem = problemOf(world);
  if (problem) return refused(problem);
  const isBarred = world.target?.digest !== primary.digest;
  const why = isBarred
    ? 'the target holds a revision that failed: Flagger does not try it before it changes'
    : 'the primary runs what the target holds';
  return { outcome: 'handedBack', why };
}

function problemOf(world: World): string | undefined {
  const { canary, primary, target, route, scaler } = world;
  const good = lastKnownGood(world);
  if (!good || primary?.digest !== good.digest) return 'its primary does not run the last-known-good';
  if (!target) return 'its target is not there';
  if (
    target.digest === undefined ||
    !(target.digest === good.digest || rejectionOf(contextOf(world), target.digest))
  )
    return 'the target holds a revision that was not rolled out, and Flagger would take it for promoted; start Holdfast again until it was';
  if ((route?.canaryWeight ?? 0) > 0) return 'the canary has traffic';
  if (!hasConverged(primary, planOf(canary, world.options).primaryReadyPercent))
    return `the primary is not ready: ${whyNotReady(primary)}`;
  if (scaler?.primary?.restoreMinReplicas !== undefined || scaler?.canary?.restoreMinReplicas !== undefined)
    return 'the minReplicas of a scaler are still raised; start Holdfast again until it gave them back';
  return undefined;
}

function refused(why: string): HandBack {
  return { outcome: 'refused', why };
}
