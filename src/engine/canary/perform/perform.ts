import { type Action, laneOf } from '../../../rollout/action.ts';
import { failureOf, isStale } from '../../failure.ts';
import type { ActionContext, ActionType, Performer } from '../context/context.ts';
import { type ActionFailure, inLanes, isReversible, reliesOn } from './action-order.ts';
import { adoptPrimary } from './adopt-primary.ts';
import { disown } from './disown.ts';
import { removeFinalizer } from './finalizer.ts';
import { nativePerformers } from './native.ts';
import { markProven, reject, saveRecord, unreject } from './records.ts';
import { releaseCopies } from './release-copies.ts';
import { applyScalers, pauseScaler, removeScaler, setScalerFloor } from './scalers.ts';
import { ensureServices, setTraffic } from './traffic.ts';
import {
  applyCanary,
  applyPrimary,
  applySettings,
  restoreConfigs,
  scaleCanary,
  scalePrimary,
} from './workloads.ts';

const performers: { readonly [Type in ActionType]: Performer<Type> } = {
  SaveRecord: saveRecord,
  MarkProven: markProven,
  ApplyCanary: applyCanary,
  ScaleCanary: scaleCanary,
  ApplyPrimary: applyPrimary,
  AdoptPrimary: adoptPrimary,
  RestoreConfigs: restoreConfigs,
  ApplySettings: applySettings,
  ScalePrimary: scalePrimary,
  ApplyScalers: applyScalers,
  RemoveScaler: removeScaler,
  SetScalerFloor: setScalerFloor,
  PauseScaler: pauseScaler,
  EnsureServices: ensureServices,
  SetTraffic: setTraffic,
  // Copies have nobody who waits: their controllers replace what is not ready.
  ReplacePods: async () => false,
  Reject: reject,
  Unreject: unreject,
  Disown: disown,
  ReleaseCopies: releaseCopies,
  RemoveFinalizer: removeFinalizer,
};

/** What became of the actions of one decision. */
export interface Performed {
  /** Something was written (S33). */
  readonly wrote: boolean;
  readonly failures: readonly ActionFailure[];
  /** Actions that failed, or were left out since they rely on one that did. */
  readonly undone: readonly Action[];
}

/**
 * Does the actions lane by lane; one that fails keeps back only those that rely on it (ADR 31). Without the intent, which could not be
 * written, only what can be taken back is done. Throws a conflict or StaleView: then the world is another one, and is looked at anew.
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
    // Traffic is moved over a look of its own, which the Services have no part in.
    else if (action.type === 'EnsureServices') stale = error;
    else throw error;
  }

  for (const action of inLanes(actions)) {
    if (stale !== undefined && laneOf(action) !== 'safety') break;
    const isBlocked = (!hasIntent && !isReversible(action)) || relies(action, undone);
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

function relies(action: Action, undone: readonly Action[]): boolean {
  return undone.some((other) => reliesOn(action, other));
}

function perform(context: ActionContext, action: Action): Promise<boolean> {
  const own = context.observation.world.sharesWorkload ? nativePerformers[action.type] : undefined;
  const performer = (own ?? performers[action.type]) as Performer<ActionType>;
  return performer(context, action);
}
