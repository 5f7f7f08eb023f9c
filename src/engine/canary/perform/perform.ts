import { type Action, laneOf, lanes } from '../../../rollout/outcome.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { failureOf, isStale } from '../../failure.ts';
import type { ActionContext, Performer, Performers } from '../context/context.ts';
import type { ActionFailure } from './action-text.ts';
import { adoptionPerformers } from './adopt-primary.ts';
import { finalizerPerformers } from './finalizer.ts';
import { handBackPerformers } from './hand-back.ts';
import { nativePerformers } from './native.ts';
import { recordPerformers } from './records.ts';
import { scalerPerformers } from './scalers.ts';
import { trafficPerformers } from './traffic.ts';
import { copyPerformers, revisionPerformers, workloadPerformers } from './workloads.ts';

const performers: Performers = {
  ...recordPerformers,
  ...workloadPerformers,
  ...scalerPerformers,
  ...trafficPerformers,
  ...adoptionPerformers,
  ...handBackPerformers,
  ...finalizerPerformers,
  // Controllers of copies replace pods that are not ready themselves.
  ReplacePods: async () => false,
};

/** Actions that are performed otherwise, by what the two sides of the Canary are. */
const performersBySides: Readonly<
  Record<'native' | ReturnType<typeof workloadKind>['sides'], Partial<Performers>>
> = {
  workloads: {},
  copies: copyPerformers,
  revisions: revisionPerformers,
  native: nativePerformers,
};

/** The result of the actions of one decision. */
export interface Performed {
  /** Something was written (S33). */
  readonly wrote: boolean;
  readonly failures: readonly ActionFailure[];
  /** Actions that failed, or were left out since they rely on one that did. */
  readonly undone: readonly Action[];
}

/**
 * Performs the actions lane by lane; one that fails blocks only those that depend on it (ADR 31). Without the intent in the status, which could
 * not be written, only what can be undone is performed. Throws a conflict or StaleView: the cluster changed and has to be observed again.
 */
export async function performAll(
  context: ActionContext,
  actions: readonly Action[],
  hasIntent = true,
): Promise<Performed> {
  const failures: ActionFailure[] = [];
  const undone: Action[] = [];
  let wrote = false;
  let stale: unknown;

  function failed(action: Action, error: unknown): void {
    undone.push(action);
    if (!isStale(error)) failures.push({ action, failure: failureOf(error) });
    // Traffic is moved on a fresh read of its own, of which the Services are no part.
    else if (action.type === 'EnsureServices') stale = error;
    else throw error;
  }

  for (const action of inLanes(actions)) {
    if (stale !== undefined && laneOf(action) !== 'safety') break;
    const isBlocked =
      (!hasIntent && !isReversible(action)) || undone.some((other) => reliesOn(action, other));
    if (isBlocked) undone.push(action);
    else
      await perform(context, action).then(
        (written) => {
          wrote = written || wrote;
        },
        (error: unknown) => failed(action, error),
      );
  }
  if (stale !== undefined) throw stale;
  return { wrote, failures, undone };
}

function perform(context: ActionContext, action: Action): Promise<boolean> {
  const { world, canary } = context.observation;
  const sides = world.sharesWorkload ? 'native' : workloadKind(canary).sides;
  const performer = (performersBySides[sides][action.type] ?? performers[action.type]) as Performer<
    Action['type']
  >;
  return performer(context, action);
}

/** The order in which actions are performed, and which are left out when another one failed (ADR 31). */

/**
 * The actions lane by lane, in a lane as they were decided. The record of a release that never proved itself comes right before its first
 * template: what runs can be had again from then on (S10).
 */
export function inLanes(actions: readonly Action[]): Action[] {
  const ordered = lanes.flatMap((lane) => actions.filter((action) => laneOf(action) === lane));
  const withRecords = ordered.flatMap((action) => [
    ...ordered.filter((other) => isFirstRecord(other, action)),
    action,
  ]);
  return [...new Set(withRecords)];
}

/** Whether an action must not be performed because this other one was not. */
export function reliesOn(action: Action, undone: Action): boolean {
  if (laneOf(action) === 'farewell') return true;
  switch (undone.type) {
    case 'SetTraffic':
      return takesAway(action);
    case 'PauseScaler':
      // Its scaler would scale the canary up again at once.
      return undone.paused && undone.side === 'canary' && action.type === 'ScaleCanary' && takesAway(action);
    case 'SaveRecord':
      return (
        isFirstRecord(undone, action) ||
        ((action.type === 'MarkProven' || action.type === 'AdoptPrimary') && action.digest === undone.digest)
      );
    case 'MarkProven':
      return action.type === 'AdoptPrimary' && action.digest === undone.digest;
    case 'RemoveScaler':
      // Two scalers on the primary would work against each other.
      return action.type === 'ApplyScalers';
    default:
      return false;
  }
}

/** Routes, Services and more pods can be undone at any time, so that they need no intent in the status first. */
export function isReversible(action: Action): boolean {
  return laneOf(action) === 'safety' && !takesAway(action);
}

/** It removes pods or a template that may serve: the traffic must be where it was decided to be. */
function takesAway(action: Action): boolean {
  switch (action.type) {
    case 'ApplyPrimary':
    case 'ApplyCanary':
    case 'ReplacePods':
      return true;
    case 'ScalePrimary':
    case 'ScaleCanary':
      return action.replicas === 0;
    case 'SetScalerFloor':
      return action.minReplicas === undefined;
    case 'PauseScaler':
      return action.paused;
    default:
      return false;
  }
}

/** A proven release was kept before: writing its record anew blocks nothing, least of all a revert to it. */
function isFirstRecord(record: Action, template: Action): boolean {
  if (record.type !== 'SaveRecord' || record.promotedTime !== undefined) return false;
  const isTemplate = template.type === 'ApplyPrimary' || template.type === 'ApplyCanary';
  return isTemplate && template.digest === record.digest;
}
