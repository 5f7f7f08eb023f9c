import type { Clock } from '../../api/clock.ts';
import { GitError } from '../errors.ts';
import type { Resolved } from './references.ts';

/** How old an answer may be, and how to ask for a new one. */
interface ListingQuery {
  /** Which reference, as `referenceKey` names it. */
  readonly key: string;
  /** Milliseconds since the request began. */
  readonly maxAgeMs: number;
  /** An answer to a request that began before this moment is not used. */
  readonly notBeforeMs: number;
  /** Milliseconds from a first failure to the next request; doubles with each failure, up to `maxRetryMs`. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
  readonly look: (signal: AbortSignal) => Promise<Resolved>;
}

/**
 * Where the references of one repository point. The server is asked once for all Sources that follow a reference; they share failures as
 * well, which are not retried early.
 */
export interface Listings {
  /** Throws the GitError of the request, or of a recent one that failed. */
  resolve(ask: ListingQuery, signal: AbortSignal | undefined): Promise<Resolved>;
  /** Invalidates all answers, for instance after a push webhook. */
  expire(): void;
  /**
   * Calls `listener` soon after an answer with another commit than before, or after the end of failures. Listeners are called one after the
   * other, so that a thousand Sources do not delay each other. Returns how to unsubscribe.
   */
  onNews(key: string, listener: () => void): () => void;
}

interface Listing {
  shared: SharedWork<Resolved>;
  readonly listeners: Set<() => void>;
  /** When the latest request began. */
  startedMs: number;
  lookedMs: number;
  answer: { readonly target: Resolved } | { readonly error: GitError } | undefined;
  commit: string | undefined;
  failures: number;
}

/** Nothing is known yet. */
export function createListings(clock: Clock): Listings {
  const listings = new Map<string, Listing>();

  function of(key: string): Listing {
    const listing = listings.get(key) ?? empty();
    listings.set(key, listing);
    return listing;
  }

  /** The answer, if it is recent enough. Wall clocks jump, so a negative age does not count. */
  function known({ answer, lookedMs, failures }: Listing, ask: ListingQuery): Listing['answer'] {
    if (lookedMs < ask.notBeforeMs) return undefined;
    const ageMs = clock.nowMs() - lookedMs;
    const retryMs = Math.min(ask.maxRetryMs, ask.retryMs * 2 ** Math.min(failures - 1, 30));
    // The Sources that follow it retry at slightly different times; the first of them asks for all.
    const validMs =
      answer && 'error' in answer ? Math.max(0.75 * retryMs, answer.error.pauseMs ?? 0) : ask.maxAgeMs;
    return ageMs >= 0 && ageMs < validMs ? answer : undefined;
  }

  return {
    async resolve(ask, signal) {
      const listing = of(ask.key);
      const answer = known(listing, ask);
      if (answer && 'target' in answer) return answer.target;
      if (answer) throw answer.error;
      if (listing.startedMs < ask.notBeforeMs) listing.shared = createSharedWork();
      const { shared } = listing;
      const isLatest = () => listing.shared === shared;
      return shared.join(signal, (abort) => {
        listing.startedMs = clock.nowMs();
        return askServer(listing, { ask, clock, nowMs: listing.startedMs, isLatest }, abort);
      });
    },
    expire() {
      // A request under way began before the change.
      for (const listing of listings.values())
        Object.assign(listing, { answer: undefined, shared: createSharedWork<Resolved>() });
    },
    onNews(key, listener) {
      const { listeners } = of(key);
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        // Sources that name commits name another one with each release.
        if (listeners.size === 0 && listings.get(key)?.listeners === listeners) listings.delete(key);
      };
    },
  };
}

interface Lookup {
  readonly ask: ListingQuery;
  readonly clock: Clock;
  readonly nowMs: number;
  /** False after `expire` was called since it began. */
  readonly isLatest: () => boolean;
}

async function askServer(
  listing: Listing,
  { ask, clock, nowMs, isLatest }: Lookup,
  signal: AbortSignal,
): Promise<Resolved> {
  try {
    const target = await ask.look(signal);
    const { commit, failures } = listing;
    const answer = isLatest() ? { target } : undefined;
    Object.assign(listing, { answer, commit: target.commit, lookedMs: nowMs, failures: 0 });
    if (failures > 0 || (commit !== undefined && commit !== target.commit)) notifyListeners(listing, clock);
    return target;
  } catch (error) {
    if (error instanceof GitError && error.code !== 'Aborted' && isLatest())
      Object.assign(listing, { answer: { error }, lookedMs: nowMs, failures: listing.failures + 1 });
    throw error;
  }
}

/** Fifty in a second. A listener that unsubscribes in between is not called. */
const betweenMs = 20;

function notifyListeners({ listeners }: Listing, clock: Clock): void {
  for (const [index, listener] of [...listeners].entries())
    clock.after(index * betweenMs, () => {
      if (listeners.has(listener)) listener();
    });
}

function empty(): Listing {
  return {
    shared: createSharedWork(),
    listeners: new Set(),
    startedMs: Number.NEGATIVE_INFINITY,
    lookedMs: Number.NEGATIVE_INFINITY,
    answer: undefined,
    commit: undefined,
    failures: 0,
  };
}

/** One piece of work that several callers wait for. */
interface SharedWork<T> {
  /** Joins the work under way, or starts it. Rejects with GitError Aborted for a caller whose signal aborts. */
  join(signal: AbortSignal | undefined, start: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

interface UnderWay<T> {
  readonly result: Promise<T>;
  readonly abort: AbortController;
  waiting: number;
}

/** Starts without work. The work is aborted when no caller waits for it any more. */
function createSharedWork<T>(): SharedWork<T> {
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
      if (signal?.aborted) throw abortedError();
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
    const aborted = () => reject(abortedError());
    signal.addEventListener('abort', aborted, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
}

function abortedError(): GitError {
  return new GitError('Aborted', 'the Git operation was cancelled');
}
