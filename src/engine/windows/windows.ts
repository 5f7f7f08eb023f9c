import type { SourceWindow } from '../../api/source.ts';
import type { WindowView } from '../../rollout/world.ts';
import { lengthMs, startAfterMs } from './window-starts.ts';

/** While this lasts nothing opens, and then is to be looked again. */
interface Closed {
  readonly fromMs: number;
  readonly untilMs: number;
}

const closed = new WeakMap<readonly SourceWindow[], Closed>();

/** Changes of windows that are looked at in search of the next opening: a schedule of every second must not stop the process. */
const mostSteps = 200;

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

function openingMs(windows: readonly SourceWindow[], nowMs: number): number {
  const allows = windows.filter(({ kind }) => kind === 'allow');
  const denies = windows.filter(({ kind }) => kind === 'deny');
  let atMs = nowMs;
  for (let count = 0; count < mostSteps; count += 1) {
    const nextMs = deniedUntilMs(denies, atMs) ?? allowedFromMs(allows, atMs);
    if (nextMs === atMs) return atMs;
    atMs = nextMs;
  }
  return atMs;
}

/** When the deny windows of this moment end, as far as they have begun by then; undefined: there is none. */
function deniedUntilMs(denies: readonly SourceWindow[], atMs: number): number | undefined {
  const ends = denies.map((window) => endMs(window, atMs)).filter((end) => end !== undefined);
  return ends.length > 0 ? Math.max(...ends) : undefined;
}

/** This moment, or when the first allow window begins after it. */
function allowedFromMs(allows: readonly SourceWindow[], atMs: number): number {
  if (allows.length === 0 || allows.some((window) => endMs(window, atMs) !== undefined)) return atMs;
  return Math.min(...allows.map((window) => startAfterMs(window, atMs)));
}

/** End of the window's oldest time that this moment is in; undefined outside. */
function endMs(window: SourceWindow, atMs: number): number | undefined {
  const startMs = startAfterMs(window, atMs - lengthMs(window));
  return startMs <= atMs ? startMs + lengthMs(window) : undefined;
}
