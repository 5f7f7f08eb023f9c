import type { Clock } from '../api/clock.ts';

/** Notices silence by a timer, never by comparing clocks (S30). */
export interface Watchdog {
  /** Something was heard: the wait starts anew. */
  contact(): void;
  /** True from the moment the silence lasted too long until the next contact. */
  silent(): boolean;
  /** No more calls, whatever is heard later. */
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
