import type { Action } from '../../rollout/action.ts';
import { adoptPrimary } from '../beside/perform-adopt.ts';
import { removeFinalizer } from '../canary/finalizer.ts';
import type { ActionContext, ActionType, Performer } from './action-context.ts';
import { disown } from './disown.ts';
import { restoreConfigs } from './perform-configs.ts';
import { nativePerformers } from './perform-native.ts';
import { markProven, reject, saveRecord, unreject } from './perform-records.ts';
import { applyScalers, pauseScaler, removeScaler, setScalerFloor } from './perform-scalers.ts';
import { ensureServices, setTraffic } from './perform-traffic.ts';
import { applyCanary, applyPrimary, applySettings, scaleCanary, scalePrimary } from './perform-workloads.ts';
import { releaseCopies } from './release-copies.ts';

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

/** Does the actions in order and stops at the first failure; true when something was written (S33). */
export async function performAll(context: ActionContext, actions: readonly Action[]): Promise<boolean> {
  let wrote = false;
  for (const action of actions) wrote = (await perform(context, action)) || wrote;
  return wrote;
}

function perform(context: ActionContext, action: Action): Promise<boolean> {
  const own = context.observation.world.sharesWorkload ? nativePerformers[action.type] : undefined;
  const performer = (own ?? performers[action.type]) as Performer<ActionType>;
  return performer(context, action);
}
