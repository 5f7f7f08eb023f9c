import { objectKey } from '../../render/render.ts';
import type { SourceDrift } from './drift.ts';

/** So many corrections of one object within the window are a quarrel with another writer. */
const quarrelCount = 5;
const windowMs = 600_000;

/** What a Source put back lately. Lost on restart: the condition stays. */
export interface DriftMemory {
  note(drift: readonly SourceDrift[], nowMs: number): void;
  /** Another writer changes it again and again: it is put back with the polls only, so that the two do not drive each other. */
  isQuarrel(objectKey: string, nowMs: number): boolean;
  /** The last correction, for people; undefined: none since the start. */
  last(): { readonly message: string; readonly timeMs: number } | undefined;
  /** Objects that are quarrelled about, as the last correction told them. */
  quarrels(nowMs: number): string[];
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
        corrections.set(key, { times: [...before, nowMs].slice(-quarrelCount), message });
        last = { message, timeMs: nowMs };
      }
      for (const key of corrections.keys()) if (recent(key, nowMs) === 0) corrections.delete(key);
    },
    isQuarrel: (key, nowMs) => recent(key, nowMs) >= quarrelCount,
    last: () => last,
    quarrels: (nowMs) =>
      [...corrections]
        .filter(([key]) => recent(key, nowMs) >= quarrelCount)
        .map(([, { message }]) => message),
  };
}
