/** How often what is made for a Canary may be written; its status is not counted. */
import type { Clock } from '../../api/clock.ts';
import type { Failure } from '../failure.ts';

/** Rounds that write, at once and then each second. A release with intervals of one second takes up to five a second for a while. */
const burst = 120;
const perSecond = 4;
/** Writes are gathered for so long rather than spread: a round alone may not be enough to come to rest. */
const pauseMs = 5_000;
/** So many may be written at once again before the other writer counts as gone. */
const calm = burst / 2;

/** Another writer undoes what is written. */
export interface Contention {
  readonly failure: Failure;
  /** If nothing is written any more. */
  readonly endsInMs: number;
}

interface Spent {
  left: number;
  atMs: number;
  pausedAtMs: number | undefined;
  failure: Failure | undefined;
}

/**
 * Another controller, or a webhook, may undo each write at once. It would be answered as fast as the API server allows, at the cost of all other
 * Canaries, and nobody would know.
 */
interface WritePace {
  /** A round wrote this, in a few words. */
  wrote(key: string, what: string): void;
  /** For so long nothing is done. */
  pauseMs(key: string): number;
  /** Undefined once the other writer has been gone for a while. */
  contention(key: string): Contention | undefined;
  delete(key: string): void;
}

/** Nothing was written yet. */
export function createWritePace(clock: Clock): WritePace {
  const known = new Map<string, Spent>();

  /** On a clock that was set back, what was written before counts no more. */
  function sinceMs(ms: number): number {
    const elapsedMs = clock.nowMs() - ms;
    return elapsedMs < 0 ? Number.POSITIVE_INFINITY : elapsedMs;
  }

  function of(key: string): Spent {
    const nowMs = clock.nowMs();
    const { left, atMs, pausedAtMs, failure } = known.get(key) ?? { left: burst, atMs: nowMs };
    const refilled = Math.min(burst, left + (sinceMs(atMs) * perSecond) / 1000);
    return { left: refilled, atMs: nowMs, pausedAtMs, failure: refilled >= calm ? undefined : failure };
  }

  return {
    wrote(key, what) {
      const spent = of(key);
      known.set(key, spent);
      spent.left -= 1;
      if (spent.left >= 1) return;
      const message = `another controller or a webhook undoes what Holdfast writes (${what}); Holdfast now writes every ${pauseMs / 1000} s. Stop the other writer: the managedFields of the object name it`;
      spent.pausedAtMs = spent.atMs;
      spent.failure ??= { reason: 'ForeignChange', message, transient: true };
    },
    pauseMs(key) {
      const { pausedAtMs } = of(key);
      return pausedAtMs === undefined ? 0 : Math.max(0, pauseMs - sinceMs(pausedAtMs));
    },
    contention(key) {
      const { failure, left } = of(key);
      return failure && { failure, endsInMs: Math.ceil(((calm - left) * 1000) / perSecond) };
    },
    delete: (key) => void known.delete(key),
  };
}
