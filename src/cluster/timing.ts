import type { Clock } from '../api/clock.ts';

/** A random number in [0, 1), as Math.random gives. */
export type Random = () => number;

/** A signal that follows several others. `AbortSignal.any` holds memory until its longest-lived source is collected. */
export interface LinkedSignal {
  readonly signal: AbortSignal;
  /** Aborts this signal alone. */
  abort(): void;
  /** True when it was `abort` and none of the sources. */
  abortedHere(): boolean;
  /** Lets go of the sources; call it when the work is done. */
  release(): void;
}

/** One for all: each would have its stack described when the request that it ends lets go of its socket. */
const aborted = new DOMException('This operation was aborted', 'AbortError');

/** Aborts when one of the sources does, or by its own `abort`. */
export function linkSignals(...sources: ReadonlyArray<AbortSignal | undefined>): LinkedSignal {
  const controller = new AbortController();
  let here = false;
  const follow = () => controller.abort(aborted);
  for (const source of sources) {
    if (source?.aborted) controller.abort(aborted);
    source?.addEventListener('abort', follow, { once: true });
  }
  return {
    signal: controller.signal,
    abort() {
      here = !controller.signal.aborted;
      controller.abort(aborted);
    },
    abortedHere: () => here,
    release() {
      for (const source of sources) source?.removeEventListener('abort', follow);
    },
  };
}

/** Notices silence by a timer, never by comparing clocks (S30). */
export interface Watchdog {
  /** Data has arrived: the wait starts over. */
  contact(): void;
  /** True from the moment the silence lasted too long until the next contact. */
  silent(): boolean;
  /** Ends the wait; later contacts do not start it again. */
  stop(): void;
}

/** Starts waiting; calls `onSilence` each time `silenceMs` pass without a contact, again and again. */
export function createWatchdog(clock: Clock, silenceMs: number, onSilence: () => void): Watchdog {
  let isSilent = false;
  let stopped = false;
  let cancel = arm();

  function arm(): () => void {
    return clock.after(silenceMs, () => {
      isSilent = true;
      cancel = arm();
      onSilence();
    });
  }

  return {
    contact() {
      isSilent = false;
      if (stopped) return;
      cancel();
      cancel = arm();
    },
    silent: () => isSilent,
    stop() {
      stopped = true;
      cancel();
    },
  };
}
