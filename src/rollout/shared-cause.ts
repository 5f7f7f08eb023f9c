import { sinceMs } from '../api/units.ts';
import type { World } from './world.ts';

/** Failures this far apart may have one cause. */
const WINDOW_MS = 5 * 60_000;
/** More Canaries than this fail together only when the cause is elsewhere. */
const MOST = 3;
/** The share of the verifying Canaries that says the same, and from how many failing ones on it counts (ADR 14). */
const SHARE_PERCENT = 20;
const LEAST = 3;

/**
 * Would so many Canaries revert for what checks say that the cause is not their releases (design section 5, auto)? This one counts as
 * failing. Undefined when it stands for itself, else one line about the others.
 */
export function sharedCause({ peers, nowMs }: World): string | undefined {
  const others = peers.failedTimes.filter((time) => sinceMs(nowMs, time) < WINDOW_MS).length;
  const failing = others + peers.failingNow + 1;
  const verifying = peers.verifying + 1;
  const isShare = failing >= LEAST && failing * 100 >= SHARE_PERCENT * verifying;
  if (failing <= MOST && !isShare) return undefined;
  return `${failing} Canaries fail their checks within ${WINDOW_MS / 60_000} minutes: the cause is not one release`;
}
