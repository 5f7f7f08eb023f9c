import type { CanaryStatus } from '../../api/canary-status.ts';

/** Where a release came to rest. */
export type Outcome = 'Succeeded' | 'Failed' | 'Held';

/** Exit codes of commands that wait for a release: 0 it serves, 1 it failed, 3 it is held, 4 the time was up. */
export const exitCodes = { Succeeded: 0, Failed: 1, Held: 3, TimedOut: 4 } as const;

/** Where the release came to rest; undefined while something is still under way. */
export function outcomeOf(status: CanaryStatus): Outcome | undefined {
  if (status.postPromotion?.state === 'Held') return 'Held';
  if (status.run) return undefined;
  if (status.phase === 'Succeeded' || status.phase === 'Initialized') return 'Succeeded';
  return status.phase === 'Failed' ? 'Failed' : undefined;
}
