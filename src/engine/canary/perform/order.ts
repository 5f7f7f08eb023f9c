/** The order in which actions are performed, and which are left out when another one failed (ADR 31). */

import { type CanaryStatus, withoutSpecInForce } from '../../../api/canary/status.ts';
import { type Action, laneOf, lanes } from '../../../rollout/outcome.ts';

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
  if (laneOf(action) === 'teardown') return true;
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

type Field = keyof CanaryStatus;

/** The fields of the status that say that an action was done, where that is never read back; `all`: the whole decision is made again. */
const fieldsByAction: Partial<Record<Action['type'], 'all' | readonly Field[]>> = {
  // What the program before left in the status says what is to be taken over.
  AdoptPrimary: 'all',
  // The request is answered with it.
  Unreject: 'all',
  Disown: 'all',
  ReleaseCopies: 'all',
  RemoveFinalizer: 'all',
  RemoveScaler: ['scaler'],
  ScaleCanary: ['scaledDown'],
};

/** Whether the decided status must not be written at all, since it would say that these actions were done. */
export function keepsStatus(undone: readonly Action[]): boolean {
  return undone.some(({ type }) => fieldsByAction[type] === 'all');
}

/** The decided status; fields that would say that these actions were done keep their former values. */
export function withoutUndone(
  decided: CanaryStatus,
  before: CanaryStatus,
  undone: readonly Action[],
): CanaryStatus {
  if (keepsStatus(undone)) return withoutSpecInForce(before);
  const fields = undone.flatMap(({ type }) => fieldsByAction[type] ?? []) as Field[];
  const status: Record<string, unknown> = { ...decided };
  for (const field of fields) {
    if (before[field] === undefined) delete status[field];
    else status[field] = before[field];
  }
  return status as CanaryStatus;
}
