import { GitError } from './errors.ts';

/** One piece of work that several callers wait for at once. */
export interface SharedWork<T> {
  /** Joins the work under way, or starts it. Rejects with GitError Aborted for a caller whose signal aborts. */
  join(signal: AbortSignal | undefined, start: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

interface UnderWay<T> {
  readonly result: Promise<T>;
  readonly abort: AbortController;
  waiting: number;
}

/** Nothing is under way. The work is given up when nobody waits for it any more. */
export function createSharedWork<T>(): SharedWork<T> {
  let current: UnderWay<T> | undefined;

  function begin(start: (signal: AbortSignal) => Promise<T>): UnderWay<T> {
    const abort = new AbortController();
    const begun: UnderWay<T> = { result: start(abort.signal), abort, waiting: 0 };
    const end = () => {
      if (current === begun) current = undefined;
    };
    void begun.result.then(end, end);
    return begun;
  }

  return {
    async join(signal, start) {
      if (signal?.aborted) throw givenUp();
      current ??= begin(start);
      const joined = current;
      joined.waiting += 1;
      try {
        return await unlessAborted(joined.result, signal);
      } finally {
        joined.waiting -= 1;
        if (joined.waiting === 0) {
          joined.abort.abort();
          if (current === joined) current = undefined;
        }
      }
    },
  };
}

function unlessAborted<T>(result: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return result;
  return new Promise<T>((resolve, reject) => {
    const aborted = () => reject(givenUp());
    signal.addEventListener('abort', aborted, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
}

function givenUp(): GitError {
  return new GitError('Aborted', 'the Git operation was given up by the caller');
}
