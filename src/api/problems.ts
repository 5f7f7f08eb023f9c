/** What is wrong with a document, as messages for users. Values never appear, except a short wrong choice of a closed list. */
import type * as z from 'zod';

/** One finding. `path` names the field as `spec.analysis.stepWeight` or `spec.analysis.metrics[0].name`. */
export interface Problem {
  path: string;
  message: string;
}

/** What checks found: problems stop the object, warnings are reported. */
export interface Findings {
  problems: Problem[];
  warnings: Problem[];
}

/** Joins path parts the way messages name fields; keys that are no plain words are quoted. */
export function fieldPath(parts: readonly PropertyKey[]): string {
  let path = '';
  for (const part of parts) {
    if (typeof part === 'number') path += `[${part}]`;
    else if (/^[A-Za-z_][\w-]*$/.test(String(part))) path += path ? `.${String(part)}` : String(part);
    else path += `[${JSON.stringify(String(part))}]`;
  }
  return path;
}

/** Turns one of zod's issues into a problem. `root` is the checked value, `prefix` its path. */
export function problemOf(issue: z.core.$ZodIssue, root: unknown, prefix: readonly PropertyKey[]): Problem {
  const path = fieldPath([...prefix, ...issue.path]);
  const value = issue.path.reduce<unknown>(
    (at, part) =>
      typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[part] : undefined,
    root,
  );
  return { path, message: messageOf(issue, value) };
}

function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined
        ? 'is missing'
        : `must be ${withArticle(issue.expected)}, is ${describeType(value)}`;
    case 'invalid_value':
      return value === undefined ? 'is missing' : choiceMessage(issue.values.map(String), value);
    case 'too_small':
      return boundMessage('at least', issue.origin, issue.minimum);
    case 'too_big':
      return boundMessage('at most', issue.origin, issue.maximum);
    case 'invalid_format': {
      const pattern = issue.format === 'regex' ? (issue.pattern ?? '') : issue.format;
      return formats.find(([part]) => pattern.includes(part))?.[1] ?? `must match ${pattern}`;
    }
    case 'invalid_key': {
      const [first] = issue.issues;
      return first ? `the name ${messageOf(first, '')}` : issue.message;
    }
    case 'invalid_union':
      return value === undefined
        ? 'is missing'
        : `must be a whole number or a string, is ${describeType(value)}`;
    default:
      return issue.message;
  }
}

function choiceMessage(choices: readonly string[], value: unknown): string {
  const list = choices.filter((choice) => choice !== '').join(', ');
  if (typeof value !== 'string' || value.length > 40) return `must be one of ${list}`;
  const near = nearest(value, choices);
  return `"${value}" is not one of ${list}${near ? `; did you mean ${near}?` : ''}`;
}

function boundMessage(word: string, origin: string, bound: number | bigint): string {
  if (origin === 'string') return `must have ${word} ${bound} characters`;
  if (origin === 'array') return `must have ${word} ${bound} items`;
  return `must be ${word} ${bound}`;
}

const formats: ReadonlyArray<[pattern: string, words: string]> = [
  ['^[0-9]+(m|s)', 'must be a duration in minutes or seconds, such as 30s or 60m'],
  ['(ms|s|m|h)', 'must be a duration such as 30s, 1m30s or 500ms'],
  ['https?|ssh', 'must begin with http://, https:// or ssh://, or be user@host:path'],
  ['https?', 'must begin with http:// or https://'],
  ['[0-9a-f]{40}', 'must be a full commit SHA (40 or 64 hexadecimal digits)'],
  ['^\\/', 'must be a JSON pointer that begins with /'],
  ['^(\\/', 'must be a JSON pointer that begins with /'],
  ['(@[a-z]+', 'must be a cron expression such as 0 18 * * 5'],
  ['[A-Za-z0-9_+-]+(\\/', 'must be an IANA time zone such as Europe/Oslo'],
  ['[_A-Za-z]', 'must be letters, digits and _, without a digit at the beginning'],
  ['[a-zA-Z](', 'must be the name of a kind, such as Service'],
  [')*$', 'must be lower-case letters, digits, dashes and dots, with a letter or digit at both ends'],
  ['[a-z0-9](', 'must be lower-case letters, digits and dashes, with a letter or digit at both ends'],
];

/** How a message names the type of a value: `a list`, `a string`, `null`. */
export function describeType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return withArticle(typeof value);
}

function withArticle(type: string): string {
  if (type === 'array') return 'a list';
  if (type === 'record' || type === 'object') return 'an object';
  if (type === 'int') return 'a whole number';
  return `a ${type}`;
}

/** The candidate that differs least from a word, if it differs so little that it may be a typing error. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const allowed = Math.max(1, Math.floor(word.length / 4));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    if (candidate === '' || Math.abs(candidate.length - word.length) > allowed) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance <= allowed && (!best || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** Edits between two words, a swap of neighbours counting as one. Words are field names: short. */
function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[right.length] ?? 0;
}

/** Bad input from the command line: the program ends with code 2. */
export class InputError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InputError';
  }
}
