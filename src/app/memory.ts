import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../api/clock.ts';

/** So long nothing may have happened before memory is given back. */
const quietMs = 5_000;

/** So much may the heap grow between two collections, in percent. Left alone, V8 lets a small one become four times as large. */
const growthPercent = 30;

/** Keeps the heap of this process close to what is in use. For a program of its own, not for one that shares its process with tests. */
export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
}

/**
 * Gives memory back to the machine when a busy time is over. Left alone, V8 keeps what a start or a large sync needed for hours, since an
 * idle program gives it no reason to collect. `busy` is called at each piece of work.
 */
export function createMemoryKeeper(clock: Clock): { busy(): void; stop(): void } {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let cancel: (() => void) | undefined;
  return {
    busy() {
      cancel?.();
      cancel = clock.after(quietMs, () => collect());
    },
    stop() {
      cancel?.();
    },
  };
}
