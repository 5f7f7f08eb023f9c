/** Runs work strictly one after the other, in the order of the calls; a failure does not stop the next. */
export interface Mutex {
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** A new, free mutex. */
export function createMutex(): Mutex {
  let tail: Promise<unknown> = Promise.resolve();
  return {
    run(work) {
      const result = tail.then(work, work);
      tail = result.catch(() => undefined);
      return result;
    },
  };
}
