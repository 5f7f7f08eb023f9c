/** Conditions of a metric of Argo Rollouts (expressions over `result`) as a range. Pure. */
import type { CanaryMetric } from '../../api/canary/analysis.ts';

/** A range in which the value passes, or why the condition is none. */
type ReadCondition =
  | {
      readonly range: Range;
      /** JSON pointer below the answer to what is compared; empty: the answer itself. */
      readonly pointer: string;
      readonly onNoData?: CanaryMetric['onNoData'];
      /** Where the range is not exactly the condition. */
      readonly notes: readonly string[];
    }
  | { readonly problem: string };

interface Comparison {
  readonly pointer: string;
  readonly operator: string;
  readonly bound: number;
  /** What counts in place of no value. */
  readonly byDefault?: number;
}

const path = String.raw`result((?:\[\d+\]|\.[A-Za-z_][\w-]*|\["[^"\]]+"\]|\['[^'\]]+'\])*)`;
const value = String.raw`(?:(?:asFloat|asInt|float|int)\(\s*)?(?:default\(\s*)?${path}(?:\s*,\s*(-?[\d.]+)\s*\))?\s*\)?`;
const comparison = new RegExp(String.raw`^${value}\s*(>=|<=|==|>|<)\s*(-?\d+(?:\.\d+)?|true|false)$`);
const truth = new RegExp(`^(!?)${path}$`);
const noData =
  /^(?:len\(result\) *== *0|(?:isNaN|isNil|isInf)\(result(?:\[0\])?\)|result(?:\[0\])? *== *nil)$/;
const someData =
  /^(?:len\(result\) *(?:> *0|!= *0|>= *1)|!(?:isNaN|isNil|isInf)\(result(?:\[0\])?\)|result(?:\[0\])? *!= *nil)$/;

const unreadable = {
  problem:
    'is no range of one value; write its MetricTemplate by hand, and take the metric out of the AnalysisTemplate first',
};

/**
 * The range of a metric: what `successCondition` names and `failureCondition` leaves. Undefined without either: such a metric
 * passes whatever its value is. `hasList`: the answer is a list, of which `result[0]` is the value.
 */
export function rangeOf(
  success: string | undefined,
  failure: string | undefined,
  hasList: boolean,
): ReadCondition | undefined {
  const passing = success === undefined ? undefined : successRange(success, hasList);
  const left = failure === undefined ? undefined : failureRange(failure, hasList);
  if (!passing || !left) return passing ?? left;
  if ('problem' in passing) return passing;
  if ('problem' in left || passing.pointer !== left.pointer)
    return { problem: unreadable.problem.replace('is', 'with failureCondition is') };
  const failsEmpty = parts(failure ?? '', '||').some((way) => noData.test(way));
  const { onNoData, ...both } = passing;
  const range = narrowed(passing.range, left.range);
  const ends = [...new Set([...passing.notes, ...left.notes])].filter((note) =>
    [range.min, range.max].includes(Number.parseFloat(note)),
  );
  const between = 'a value that meets neither condition is a failed check, and was inconclusive';
  return { ...both, range, notes: [...ends, between], ...(onNoData && !failsEmpty ? { onNoData } : {}) };
}

type Range = { readonly min?: number; readonly max?: number };

function narrowed(one: Range, other: Range): Range {
  const mins = [one.min, other.min].filter((end) => end !== undefined);
  const maxs = [one.max, other.max].filter((end) => end !== undefined);
  return {
    ...(mins.length > 0 ? { min: Math.max(...mins) } : {}),
    ...(maxs.length > 0 ? { max: Math.min(...maxs) } : {}),
  };
}

function successRange(text: string, hasList: boolean): ReadCondition {
  const ways = parts(text, '||');
  const isLenient = ways.some((way) => noData.test(way));
  const [way, ...others] = ways.filter((one) => !noData.test(one));
  if (way === undefined || others.length > 0) return unreadable;
  const terms = parts(way, '&&').filter((term) => !someData.test(term));
  return rangeFrom(terms, hasList, { negated: false, isLenient });
}

/** What fails by several conditions passes where none of them holds. */
function failureRange(text: string, hasList: boolean): ReadCondition {
  const all = parts(text, '||');
  const ways = all.filter((way) => !noData.test(way));
  const terms: string[] = [];
  let isLenient = false;
  for (const way of ways) {
    const both = parts(way, '&&');
    const [term, ...others] = both.filter((one) => !someData.test(one));
    if (term === undefined || others.length > 0) return unreadable;
    isLenient ||= both.length > 1 && ways.length === all.length;
    terms.push(term);
  }
  return rangeFrom(terms, hasList, { negated: true, isLenient });
}

function rangeFrom(
  terms: readonly string[],
  hasList: boolean,
  { negated, isLenient }: { readonly negated: boolean; readonly isLenient: boolean },
): ReadCondition {
  const read = terms.map((term) => readTerm(term, hasList));
  const all = read.filter((one) => one !== undefined);
  const [pointer, ...others] = new Set(all.map((one) => one.pointer));
  const isExcluded = negated && all.some(({ operator }) => operator === '==');
  if (pointer === undefined || others.length > 0 || all.length < read.length || isExcluded) return unreadable;
  const range = all.reduce<Range>((sofar, { operator, bound }) => {
    const isLowest = operator === '==' || operator.startsWith('>') !== negated;
    const isHighest = operator === '==' || operator.startsWith('<') !== negated;
    return narrowed(sofar, { ...(isLowest ? { min: bound } : {}), ...(isHighest ? { max: bound } : {}) });
  }, {});
  const open = all.filter(({ operator }) => operator.endsWith('=') === negated);
  const notes = open.map(({ bound }) => `${bound} itself passes here, because both ends of a range do`);
  const passesEmpty = all.some(
    ({ byDefault, operator, bound }) =>
      byDefault !== undefined && holds(byDefault, operator, bound) !== negated,
  );
  return { range, pointer, notes, ...(isLenient || passesEmpty ? { onNoData: 'pass' as const } : {}) };
}

const truths: Readonly<Record<string, number>> = { true: 1, false: 0 };

function readTerm(term: string, hasList: boolean): Comparison | undefined {
  const [compared, steps = '', byDefault, operator = '', bound = ''] = comparison.exec(term) ?? [];
  if (compared !== undefined) {
    const pointer = pointerOf(steps, hasList);
    if (pointer === undefined) return undefined;
    const number = truths[bound] ?? Number(bound);
    return { pointer, operator, bound: number, ...(byDefault ? { byDefault: Number(byDefault) } : {}) };
  }
  const [whole, not, flag = ''] = truth.exec(term) ?? [];
  const pointer = pointerOf(flag, hasList);
  if (whole === undefined || hasList || pointer === undefined) return undefined;
  return { pointer, operator: '==', bound: not ? 0 : 1 };
}

function holds(given: number, operator: string, bound: number): boolean {
  if (given === bound) return operator.endsWith('=');
  return given > bound ? operator.startsWith('>') : operator.startsWith('<');
}

/** A list has one value, whichever way it is named; undefined for another one. */
function pointerOf(steps: string, hasList: boolean): string | undefined {
  if (hasList) return ['', '[0]'].includes(steps) ? '' : undefined;
  return jsonPointer(steps);
}

/** `.data[0].ok` as `/data/0/ok`; undefined for steps that name several places. */
export function jsonPointer(steps: string): string | undefined {
  const step = /\.([A-Za-z_][\w-]*)|\[(\d+)\]|\["([^"\]]+)"\]|\['([^'\]]+)'\]/y;
  let pointer = '';
  for (let match = step.exec(steps); match; match = step.exec(steps)) {
    const name = match.slice(1).find((one) => one !== undefined) ?? '';
    pointer += `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (step.lastIndex === steps.length) return pointer;
  }
  return steps === '' ? '' : undefined;
}

/** The parts of an expression between an operator, outside of parentheses and without those around a whole part. */
function parts(text: string, operator: '||' | '&&'): string[] {
  const words = operator === '||' ? /\|\||\bor\b/y : /&&|\band\b/y;
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    words.lastIndex = at;
    const [between] = (depth === 0 && words.exec(text)) || [];
    if (between === undefined) continue;
    found.push(text.slice(start, at));
    start = at + between.length;
    at = start - 1;
  }
  return [...found, text.slice(start)].map(withoutParentheses);
}

function withoutParentheses(text: string): string {
  const part = text.trim();
  if (!part.startsWith('(') || !part.endsWith(')')) return part;
  let depth = 0;
  for (const [at, letter] of [...part].entries()) {
    if (letter === '(') depth += 1;
    if (letter === ')') depth -= 1;
    if (depth === 0 && at < part.length - 1) return part;
  }
  return withoutParentheses(part.slice(1, -1));
}
