import { isDeepStrictEqual } from 'node:util';
import type { Condition } from '../api/kubernetes.ts';

/** A condition without its times; `withCondition` sets them. */
export type ConditionNews = Omit<Condition, 'lastTransitionTime' | 'lastUpdateTime'>;

/** News for people, as an event carries it. */
export interface News {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

const maximumMessageLength = 1024;

/**
 * The list with this condition set. lastTransitionTime moves only when the status changes; a condition that says the same as before
 * keeps every byte, so that nothing is written for it.
 */
export function withCondition(
  conditions: readonly Condition[],
  news: ConditionNews,
  nowMs: number,
): Condition[] {
  const before = conditions.find(({ type }) => type === news.type);
  const message = news.message.slice(0, maximumMessageLength);
  const time = new Date(nowMs).toISOString();
  const next: Condition = {
    ...news,
    message,
    lastTransitionTime: before?.status === news.status ? (before.lastTransitionTime ?? time) : time,
  };
  if (before && sameNews(before, next)) return [...conditions];
  return before
    ? conditions.map((condition) => (condition === before ? next : condition))
    : [...conditions, next];
}

/** The list without conditions of this type. */
export function withoutCondition(conditions: readonly Condition[], type: string): Condition[] {
  return conditions.filter((condition) => condition.type !== type);
}

/** The condition of this type, if there is one. */
export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

function sameNews(before: Condition, next: Condition): boolean {
  const { lastUpdateTime: _, ...rest } = before;
  return isDeepStrictEqual(rest, next);
}
