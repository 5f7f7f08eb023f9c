/** A signal that follows several others. `AbortSignal.any` keeps memory for as long as its longest-lived source lives. */
export interface LinkedSignal {
  readonly signal: AbortSignal;
  /** Aborts this signal alone. */
  abort(): void;
  /** True when it was `abort` and none of the sources. */
  abortedHere(): boolean;
  /** Lets go of the sources; call it when the work is done. */
  release(): void;
}

/** Aborts when one of the sources does, or by its own `abort`. */
export function linkSignals(...sources: ReadonlyArray<AbortSignal | undefined>): LinkedSignal {
  const controller = new AbortController();
  let here = false;
  const follow = () => controller.abort();
  for (const source of sources) {
    if (source?.aborted) controller.abort();
    source?.addEventListener('abort', follow, { once: true });
  }
  return {
    signal: controller.signal,
    abort() {
      here = !controller.signal.aborted;
      controller.abort();
    },
    abortedHere: () => here,
    release() {
      for (const source of sources) source?.removeEventListener('abort', follow);
    },
  };
}
