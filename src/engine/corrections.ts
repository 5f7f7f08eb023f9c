/** What was put back since other writers changed it. */
import { objectKey } from '../api/kubernetes.ts';

/** One object that was put back. */
export interface Correction {
  readonly object: Parameters<typeof objectKey>[0];
  /** What was different, and who did it: for people, without any secret. */
  readonly message: string;
}

/** So many corrections of one object within the window are contention with another writer. */
const contentionCount = 5;
const windowMs = 600_000;

/** What was put back lately of one Source or Canary. Lost on restart. */
export interface Corrections {
  note(corrections: readonly Correction[], nowMs: number): void;
  /** Another writer changes it again and again. */
  isContended(objectKey: string, nowMs: number): boolean;
  /** The last correction, for people; undefined: none since the start. */
  last(): { readonly message: string; readonly timeMs: number } | undefined;
  /** Contended objects, as their last correction was reported. */
  contended(nowMs: number): string[];
  /** Milliseconds until one of them is not contended any more; undefined: none is. */
  calmsInMs(nowMs: number): number | undefined;
}

/** Nothing was put back yet. */
export function createCorrections(): Corrections {
  const known = new Map<string, { times: number[]; message: string }>();
  let last: { message: string; timeMs: number } | undefined;

  const recent = (times: readonly number[], nowMs: number) => times.filter((time) => time > nowMs - windowMs);
  const isMany = (times: readonly number[], nowMs: number) => recent(times, nowMs).length >= contentionCount;
  const contended = (nowMs: number) => [...known.values()].filter(({ times }) => isMany(times, nowMs));

  return {
    note(corrections, nowMs) {
      for (const { object, message } of corrections) {
        const key = objectKey(object);
        const times = [...recent(known.get(key)?.times ?? [], nowMs), nowMs].slice(-contentionCount);
        known.set(key, { times, message });
        last = { message, timeMs: nowMs };
      }
      for (const [key, { times }] of known) if (recent(times, nowMs).length === 0) known.delete(key);
    },
    isContended: (key, nowMs) => isMany(known.get(key)?.times ?? [], nowMs),
    last: () => last,
    contended: (nowMs) => contended(nowMs).map(({ message }) => message),
    calmsInMs(nowMs) {
      const left = contended(nowMs).map(({ times }) => Math.min(...times) + windowMs - nowMs);
      return left.length > 0 ? Math.max(0, Math.min(...left)) : undefined;
    },
  };
}

/** When and what, for a condition that tells of the last correction. */
export function describeLast({ message, timeMs }: { message: string; timeMs: number }): string {
  return `${message}; corrected at ${new Date(timeMs).toISOString()}`;
}
