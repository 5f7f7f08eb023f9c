import { isDeepStrictEqual } from 'node:util';
import { type Condition, conditionOf, isRecord, type KubernetesObject } from '../api/kubernetes.ts';
import { beginningOf, limits, shorten } from '../api/limits.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The JSON merge patch (RFC 7386) that turns `before` into `after`; undefined when they are equal. Fields that are gone become null;
 * lists are replaced whole. Fields whose value is undefined count as absent.
 */
export function mergePatchOf(before: object, after: object): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {};
  const [from, to] = [before as Fields, after as Fields];
  for (const field of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [old, now] = [from[field], to[field]];
    if (isDeepStrictEqual(old, now)) continue;
    const change = isRecord(old) && isRecord(now) ? mergePatchOf(old, now) : (now ?? null);
    if (change !== undefined) patch[field] = change;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** As the API server returns it: without fields that are undefined, and with U+FFFD, as in Go, for half of a character in what others wrote. */
export function asStored<Status extends object>(status: Status): Status {
  const text = JSON.stringify(status);
  if (!escapedSurrogate.test(text)) return JSON.parse(text) as Status;
  return JSON.parse(text, (_, value) =>
    typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\uFFFD') : value,
  ) as Status;
}

/** In JSON only half of a character is written like this. */
const escapedSurrogate = /\\u[dD][89a-fA-F]/;

/** A condition without its times; `withCondition` sets them. */
export type ConditionNews = Omit<Condition, 'lastTransitionTime' | 'lastUpdateTime'>;

/** The generation of the object that a condition, or a status, is about. */
export function observedAt({ metadata: { generation } }: Pick<KubernetesObject, 'metadata'>): {
  readonly observedGeneration?: number;
} {
  return generation === undefined ? {} : { observedGeneration: generation };
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
  const before = conditionOf({ conditions }, news.type);
  const message = beginningOf(news.message, maximumMessageLength);
  const time = new Date(nowMs).toISOString();
  const next: Condition = {
    ...news,
    message,
    lastTransitionTime: before?.status === news.status ? (before.lastTransitionTime ?? time) : time,
  };
  const { lastUpdateTime: _, ...known } = before ?? {};
  if (before && isDeepStrictEqual(known, next)) return [...conditions];
  return before
    ? conditions.map((condition) => (condition === before ? next : condition))
    : [...conditions, next];
}

/** The list without conditions of this type; the same list where there is none. */
export function withoutCondition<List extends readonly Condition[]>(
  conditions: List,
  type: string,
): List | Condition[] {
  return conditionOf({ conditions }, type)
    ? conditions.filter((condition) => condition.type !== type)
    : conditions;
}

const shownLines = 5;

/** The first few of many lines, as one line that fits a condition. */
export function listed(lines: readonly string[]): string {
  const shown = lines.slice(0, shownLines).join('; ');
  const left = lines.length - shownLines;
  return shorten(left > 0 ? `${shown}; and ${left} more` : shown, limits.conditionMessageCharacters);
}
