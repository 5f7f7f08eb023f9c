import type { Action } from '../../rollout/action.ts';
import type { CanaryParts, Observation, ReadParts } from '../canary/canary-parts.ts';

/** What an action is done with: the parts, and the observation it was decided on. */
export interface ActionContext {
  readonly parts: CanaryParts;
  readonly observation: Observation;
}

/** What a further look is made with. */
export interface ReadContext {
  readonly parts: ReadParts;
  readonly observation: Observation;
}

/** Names of the actions. */
export type ActionType = Action['type'];

/** Does one type of action; true when something was written. Throws StaleView when the world is not what was observed. */
export type Performer<Type extends ActionType> = (
  context: ActionContext,
  action: Extract<Action, { type: Type }>,
) => Promise<boolean>;
