import type { Problem } from '../api/problems.ts';
import type { SourceWindow } from '../api/source/source.ts';
import { durationOr } from '../api/time.ts';
import { startAfterMs } from '../api/zoned-schedule.ts';
import type { WindowView } from '../rollout/world.ts';

/** No window opens in this time; after it the windows are evaluated again. */
interface Closed {
  readonly fromMs: number;
  readonly untilMs: number;
}

const closed = new WeakMap<readonly SourceWindow[], Closed>();

/**
 * Windows that are looked at in search of the next opening, one after another at each of their changes: a schedule of every second, or fifty that
 * follow each other, must not stop the process. A look takes a millisecond or two.
 */
const mostLooks = 200;

/** Nor is it searched for beyond this time: a schedule is computed for the next eight years only, and deny windows may follow each other for longer. */
const farthestMs = 3 * 366 * 86_400_000;

/**
 * Whether rollouts may start now, and else when (design section 2.2): inside an allow window if there is one, and outside every deny window.
 * A window holds its beginning and not its end. Undefined without windows. Where deny windows follow each other too closely to see the end of
 * them, the time is when to look again. Throws for windows with `windowProblems`.
 */
export function windowAt(
  windows: readonly SourceWindow[] | undefined,
  nowMs: number,
): WindowView | undefined {
  if (!windows || windows.length === 0) return undefined;
  const known = closed.get(windows);
  if (known && known.fromMs <= nowMs && nowMs < known.untilMs)
    return { open: false, nextOpeningMs: known.untilMs };
  const untilMs = openingMs(windows, nowMs);
  if (untilMs === nowMs) return { open: true };
  closed.set(windows, { fromMs: nowMs, untilMs });
  return { open: false, nextOpeningMs: untilMs };
}

/** When windows that are open may close: a deny window begins, or an allow window ends. Infinity: never. Throws for windows with `windowProblems`. */
export function closingMs(windows: readonly SourceWindow[], nowMs: number): number {
  const changes = windows.map((window) =>
    window.kind === 'deny' ? startAfterMs(window, nowMs) : (endMs(window, nowMs) ?? Number.POSITIVE_INFINITY),
  );
  return Math.min(...changes);
}

function openingMs(windows: readonly SourceWindow[], nowMs: number): number {
  const allows = windows.filter(({ kind }) => kind === 'allow');
  const denies = windows.filter(({ kind }) => kind === 'deny');
  let atMs = nowMs;
  for (let looks = 0; looks < mostLooks && atMs - nowMs < farthestMs; looks += windows.length) {
    const seenMs = atMs;
    const isInside = (window: SourceWindow) => endMs(window, seenMs) !== undefined;
    const denied = denies.filter(isInside);
    if (denied.length > 0) {
      // The deny windows of this moment end, as far as they have begun by then.
      atMs = Math.max(...denied.map((window) => endMs(window, seenMs) ?? seenMs));
    } else {
      if (allows.length === 0 || allows.some(isInside)) return atMs;
      atMs = Math.min(...allows.map((window) => startAfterMs(window, seenMs)));
    }
  }
  return atMs;
}

/** End of the window's oldest time that this moment is in; undefined outside. It lasts in real time, whatever clocks are put forward or back. */
function endMs(window: SourceWindow, atMs: number): number | undefined {
  const lengthMs = durationOr(window.duration, 0);
  const startMs = startAfterMs(window, atMs - lengthMs);
  return startMs <= atMs ? startMs + lengthMs : undefined;
}

/** What is wrong with the cron expressions and zones of windows, dates that never come included; empty when they can be used. */
export function windowProblems(windows: readonly SourceWindow[] | undefined, nowMs: number): Problem[] {
  return (windows ?? []).flatMap((window, index) => {
    try {
      startAfterMs(window, nowMs);
      return [];
    } catch (error) {
      const why = error instanceof Error ? error.message.split('\n')[0] : 'cannot be read';
      const zone = window.timeZone === undefined ? '' : ` in ${window.timeZone}`;
      const path = `spec.windows[${index}].schedule`;
      return [{ path, message: `${JSON.stringify(window.schedule)}${zone}: ${why}` }];
    }
  });
}
