/** What becomes of each field of what Argo Rollouts reads. Pure. */
import { isRecord } from '../../api/kubernetes.ts';
import type { MoveTree, Placed } from '../tree.ts';

/** `converted`: means the same. `differs`: means something else, which the message says. `stop`: ends the migration of its Rollout. */
type Outcome = 'converted' | 'differs' | 'stop';

/** What becomes of a field, in words for people. */
export type Verdict = readonly [Outcome, string];

/** One of them may depend on the value. */
export type Rule = Verdict | ((value: unknown) => Verdict);

/** Everything that was said about one Rollout, as `file:line: field: message`. */
export interface Report {
  readonly tree: MoveTree;
  readonly said: Record<Outcome, string[]>;
}

/** A report that says nothing yet. */
export function newReport(tree: MoveTree): Report {
  return { tree, said: { converted: [], differs: [], stop: [] } };
}

/** Says what becomes of a field. What was said already, as of a template that is named twice, is not said again. */
export function tell(
  { tree, said }: Report,
  placed: Placed,
  field: string,
  [outcome, message]: Verdict,
): void {
  const line = `${tree.at(placed.origin, field)}: ${field}: ${message}`;
  if (!said[outcome].includes(line)) said[outcome].push(line);
}

/** Where fields are: in which object, below which field. */
export interface FieldPlace {
  readonly placed: Placed;
  /** `spec.strategy.canary`. */
  readonly at: string;
}

/** Says what becomes of every field that has a value. One without a rule stops: what this program does not know is not dropped. */
export function tellFields(
  report: Report,
  { placed, at }: FieldPlace,
  fields: unknown,
  rules: Readonly<Record<string, Rule | undefined>>,
): void {
  if (!isRecord(fields)) return;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue;
    if (!Object.hasOwn(rules, name)) {
      tell(report, placed, `${at}.${name}`, [
        'stop',
        'is not known here; remove it, or migrate this Rollout by hand',
      ]);
      continue;
    }
    const rule = rules[name];
    if (rule) tell(report, placed, `${at}.${name}`, typeof rule === 'function' ? rule(value) : rule);
  }
}

/** A rule for a field that means nothing while it is false. */
export function unlessFalse(verdict: Verdict): Rule {
  return (value) => (value === false ? ['converted', 'is false, as here always'] : verdict);
}
