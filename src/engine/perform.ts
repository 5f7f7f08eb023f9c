import type { Action } from '../rollout/action.ts';
import type { CanaryParts, Observation } from './canary-parts.ts';
import { markProven, reject, saveRecord, unreject } from './perform-records.ts';
import { ensureServices, setTraffic } from './perform-traffic.ts';
import { applyCanary, applyPrimary, applySettings, scaleCanary, scalePrimary } from './perform-workloads.ts';

/** What an action is done with: the parts, and the observation it was decided on. */
export interface ActionContext {
  readonly parts: CanaryParts;
  readonly observation: Observation;
}

type ActionType = Action['type'];

/** Does one type of action; true when something was written. Throws StaleView when the world is not what was observed. */
export type Performer<Type extends ActionType> = (
  context: ActionContext,
  action: Extract<Action, { type: Type }>,
) => Promise<boolean>;

const performers: { readonly [Type in ActionType]: Performer<Type> } = {
  SaveRecord: saveRecord,
  MarkProven: markProven,
  ApplyCanary: applyCanary,
  ScaleCanary: scaleCanary,
  ApplyPrimary: applyPrimary,
  ApplySettings: applySettings,
  ScalePrimary: scalePrimary,
  EnsureServices: ensureServices,
  SetTraffic: setTraffic,
  Reject: reject,
  Unreject: unreject,
};

/** Does the actions in order and stops at the first failure; true when something was written (S33). */
export async function performAll(context: ActionContext, actions: readonly Action[]): Promise<boolean> {
  let wrote = false;
  for (const action of actions) wrote = (await perform(context, action)) || wrote;
  return wrote;
}

function perform(context: ActionContext, action: Action): Promise<boolean> {
  const performer = performers[action.type] as Performer<ActionType>;
  return performer(context, action);
}
