import type { JsonRecord } from '../json.ts';
import { asRecords } from '../json.ts';

/** The condition of this type, if there is one. */
export function findCondition(conditions: unknown, type: string): JsonRecord | undefined {
  return asRecords(conditions).find((condition) => condition.type === type);
}

/** New conditions that keep `lastTransitionTime` where the status did not change. */
export function withTransitions(previous: unknown, wanted: readonly JsonRecord[], now: string): JsonRecord[] {
  return wanted.map((condition) => {
    const before = findCondition(previous, String(condition.type));
    const same = before !== undefined && before.status === condition.status;
    return { ...condition, lastTransitionTime: same ? before.lastTransitionTime : now };
  });
}
