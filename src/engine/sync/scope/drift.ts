/** What a Source has put back of its objects since other writers changed them. */
import { type KubernetesObject, objectKey } from '../../../api/kubernetes.ts';

/** One object that was put back as Git says. */
export interface SourceDrift {
  readonly object: KubernetesObject;
  /** What was different, and who did it: for people, without any value. */
  readonly message: string;
}

/** So many corrections of one object within the window are contention with another writer. */
const contentionCount = 5;
const windowMs = 600_000;

/** What a Source put back lately. Lost on restart: the condition stays. */
export interface DriftMemory {
  note(drift: readonly SourceDrift[], nowMs: number): void;
  /** Another writer changes it again and again: it is put back with the polls only, so that the two do not drive each other. */
  isContended(objectKey: string, nowMs: number): boolean;
  /** The last correction, for people; undefined: none since the start. */
  last(): { readonly message: string; readonly timeMs: number } | undefined;
  /** Contended objects, as their last correction was reported. */
  contended(nowMs: number): string[];
}

/** Nothing was put back yet. */
export function createDriftMemory(): DriftMemory {
  const corrections = new Map<string, { times: number[]; message: string }>();
  let last: { message: string; timeMs: number } | undefined;

  function recent(key: string, nowMs: number): number {
    return corrections.get(key)?.times.filter((time) => time > nowMs - windowMs).length ?? 0;
  }

  return {
    note(drift, nowMs) {
      for (const { object, message } of drift) {
        const key = objectKey(object);
        const before = corrections.get(key)?.times.filter((time) => time > nowMs - windowMs) ?? [];
        corrections.set(key, { times: [...before, nowMs].slice(-contentionCount), message });
        last = { message, timeMs: nowMs };
      }
      for (const key of corrections.keys()) if (recent(key, nowMs) === 0) corrections.delete(key);
    },
    isContended: (key, nowMs) => recent(key, nowMs) >= contentionCount,
    last: () => last,
    contended: (nowMs) =>
      [...corrections]
        .filter(([key]) => recent(key, nowMs) >= contentionCount)
        .map(([, { message }]) => message),
  };
}
