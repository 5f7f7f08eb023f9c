/** Runs work strictly one after the other, in the order of the calls; a failure does not stop the next. */
interface Mutex {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Whether more work waits for what runs now. */
  isAwaited(): boolean;
}

/** A new, free mutex. */
export function createMutex(): Mutex {
  let tail: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    run(work) {
      const begin = () => {
        waiting -= 1;
        return work();
      };
      waiting += 1;
      const result = tail.then(begin, begin);
      tail = result.catch(() => undefined);
      return result;
    },
    isAwaited: () => waiting > 0,
  };
}
