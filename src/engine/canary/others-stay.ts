import type { Condition } from '../../api/kubernetes.ts';
import { clip, limits } from '../../api/limits.ts';
import { staysSeparator, whyReverted } from '../../api/reverted-message.ts';
import { findCondition } from '../conditions.ts';

/** The finding comes first and keeps at least this much of the message. */
const findingCharacters = 500;
/** Room for how many are not named. */
const moreCharacters = 20;

/** The conditions with Reverted naming what a revert left as head says (design section 5, Scope); the same list where nothing is new. */
export function withOthers(conditions: Condition[], others: readonly string[], nowMs: number): Condition[] {
  const reverted = findCondition(conditions, 'Reverted');
  if (reverted?.status !== 'True') return conditions;
  const said = whyReverted(reverted.message ?? '');
  const message =
    others.length === 0 ? said : withNames(`${clip(said, findingCharacters)}${staysSeparator}`, others);
  if (message === reverted.message) return conditions;
  const next = { ...reverted, message, lastUpdateTime: new Date(nowMs).toISOString() };
  return conditions.map((condition) => (condition === reverted ? next : condition));
}

/** As many names as fit; the others are counted. */
function withNames(start: string, names: readonly string[]): string {
  let text = start;
  for (const [index, name] of names.entries()) {
    const next = `${text}${index > 0 ? ', ' : ''}${name}`;
    if (next.length + moreCharacters > limits.conditionMessageCharacters)
      return `${text} and ${names.length - index} more`;
    text = next;
  }
  return text;
}
