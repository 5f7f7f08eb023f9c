/** A status says what was done: not what could not be. */
import { type CanaryStatus, withoutSpecInForce } from '../../api/canary-status.ts';
import type { Action } from '../../rollout/action.ts';

type Field = keyof CanaryStatus;

/** By action what a status says of it once it is done, where that is never read back; `all`: the whole decision is made again. */
const saidBy: Partial<Record<Action['type'], 'all' | readonly Field[]>> = {
  // What the program before left in the status tells what is to be taken over.
  AdoptPrimary: 'all',
  // The request is answered with it.
  Unreject: 'all',
  Disown: 'all',
  ReleaseCopies: 'all',
  RemoveFinalizer: 'all',
  RemoveScaler: ['scaler'],
  ScaleCanary: ['scaledDown'],
};

/** Whether nothing that was decided may be said, since it would say that these actions were done. */
export function saysNothing(undone: readonly Action[]): boolean {
  return undone.some(({ type }) => saidBy[type] === 'all');
}

/** The decided status, as far as it does not say that these actions were done; of those it says what was said before. */
export function withoutUndone(
  decided: CanaryStatus,
  before: CanaryStatus,
  undone: readonly Action[],
): CanaryStatus {
  if (saysNothing(undone)) return withoutSpecInForce(before);
  const fields = undone.flatMap(({ type }) => saidBy[type] ?? []) as Field[];
  const kept: Record<string, unknown> = { ...decided };
  for (const field of fields) {
    if (before[field] === undefined) delete kept[field];
    else kept[field] = before[field];
  }
  return kept as CanaryStatus;
}
