/** Why a text cannot be expanded. The message names the variable at most, never a value. */
export class ExpansionFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ExpansionFault';
  }
}

/** Where variables come from, and what becomes of one that is not there. */
export interface Variables {
  readonly values: ReadonlyMap<string, string>;
  /** A missing variable without a default is a fault; otherwise it is empty. */
  readonly strict: boolean;
}

/** Expressions inside one another. */
const maxDepth = 8;
/** Characters of one expanded text. */
const maxLength = 1_000_000;

/** A position in a text that moves on as it is read. */
interface Reader {
  readonly text: string;
  at: number;
}

/**
 * Expands `${name}` and the functions that Flux knows (`${name:=default}`, `${name:-default}`, substrings, replacements, case, trimming,
 * length); `$$` stands for `$`, and a `$` before anything but `{` for itself. Throws ExpansionFault.
 */
export function expand(text: string, variables: Variables): string {
  const reader: Reader = { text, at: 0 };
  let result = '';
  while (reader.at < text.length) {
    const next = text.indexOf('$', reader.at);
    const end = next < 0 ? text.length : next;
    result += text.slice(reader.at, end);
    reader.at = end;
    if (next >= 0) result += dollar(reader, variables);
    if (result.length > maxLength)
      throw new ExpansionFault(`is longer than ${maxLength} characters when expanded`);
  }
  return result;
}

function dollar(reader: Reader, variables: Variables): string {
  const after = reader.text[reader.at + 1];
  if (after === '{') return expression(reader, variables, 1);
  reader.at += after === '$' ? 2 : 1;
  return '$';
}

/** Reads `${...}` at the reader's position. */
function expression(reader: Reader, variables: Variables, depth: number): string {
  if (depth > maxDepth) throw new ExpansionFault(`holds expressions nested deeper than ${maxDepth}`);
  reader.at += 2;
  if (reader.text[reader.at] === '#') {
    reader.at += 1;
    const name = nameAt(reader);
    closing(reader);
    return String([...valueIn(name, variables, false)].length);
  }
  const name = nameAt(reader);
  const operator = operators.find((candidate) => reader.text.startsWith(candidate, reader.at));
  if (operator === undefined) {
    closing(reader);
    return valueIn(name, variables, false);
  }
  reader.at += operator.length;
  const isReplacement = operator.startsWith('/');
  const separator = isReplacement ? '/' : operator === ':' ? ':' : undefined;
  const args = argumentsAt(reader, variables, { separator, depth, isReplacement });
  closing(reader);
  const hasDefault = /[=\-?+]$/.test(operator);
  return apply(operator, valueIn(name, variables, hasDefault), args);
}

interface ArgumentRules {
  /** What stands between the two arguments; undefined: there is one. */
  readonly separator: string | undefined;
  /** `\/` and `\\` stand for their second character. */
  readonly isReplacement: boolean;
  readonly depth: number;
}

function argumentsAt(
  reader: Reader,
  variables: Variables,
  { separator, isReplacement, depth }: ArgumentRules,
): string[] {
  const args = [''];
  for (let character = reader.text[reader.at]; character !== '}'; character = reader.text[reader.at]) {
    if (character === undefined) throw unclosed();
    if (character === separator && args.length === 1) {
      reader.at += 1;
      args.push('');
    } else args.push(`${args.pop() ?? ''}${piece(reader, variables, { isReplacement, depth })}`);
  }
  return args;
}

/** The next character of an argument, or the value of an expression in it. */
function piece(
  reader: Reader,
  variables: Variables,
  { isReplacement, depth }: Pick<ArgumentRules, 'isReplacement' | 'depth'>,
): string {
  const two = reader.text.slice(reader.at, reader.at + 2);
  if (two === '${') return expression(reader, variables, depth + 1);
  const isEscape = isReplacement && ['\\/', '\\\\', '$$'].includes(two);
  reader.at += isEscape ? 2 : 1;
  return (isEscape ? two[1] : two[0]) ?? '';
}

function nameAt(reader: Reader): string {
  const name = /^[\p{L}\p{N}_]+/u.exec(reader.text.slice(reader.at, reader.at + 256))?.[0];
  if (!name)
    throw new ExpansionFault('holds "${" without a name after it; write "$${" for the characters themselves');
  reader.at += name.length;
  return name;
}

function closing(reader: Reader): void {
  if (reader.text[reader.at] !== '}') throw unclosed();
  reader.at += 1;
}

function unclosed(): ExpansionFault {
  return new ExpansionFault(
    'holds an expression "${..." that is not closed or not supported; write "$${" for the characters themselves',
  );
}

function valueIn(name: string, { values, strict }: Variables, hasDefault: boolean): string {
  const value = values.get(name);
  if (value === undefined && strict && !hasDefault)
    throw new ExpansionFault(`needs the variable ${name}, which is not set (spec.substitute.strict)`);
  return value ?? '';
}

/** The value of an expression from that of its variable and the texts after the operator. Positions and lengths count characters. */
type Function = (value: string, first: string, second: string | undefined) => string;

const otherwise: Function = (value, first) => (value === '' ? first : value);

/** Functions of `${name...}` as Flux has them, by what stands after the name. The longer operators come first. */
const functions: ReadonlyMap<string, Function> = new Map<string, Function>([
  [':=', otherwise],
  [':-', otherwise],
  [':?', otherwise],
  [':+', otherwise],
  ['//', (value, first, second = '') => (first === '' ? value : value.replaceAll(first, () => second))],
  [
    '/#',
    (value, first, second = '') => (value.startsWith(first) ? second + value.slice(first.length) : value),
  ],
  [
    '/%',
    (value, first, second = '') =>
      value.endsWith(first) ? value.slice(0, value.length - first.length) + second : value,
  ],
  ['^^', (value) => value.toUpperCase()],
  [',,', (value) => value.toLowerCase()],
  ['##', (value, first) => value.slice(Math.max(0, ...matchingStarts(value, first)))],
  ['%%', (value, first) => reversed(apply('##', reversed(value), [reversed(first)]))],
  ['=', otherwise],
  [':', part],
  ['/', (value, first, second = '') => value.replace(first, () => second)],
  ['^', (value) => value.replace(/^./su, (character) => character.toUpperCase())],
  [',', (value) => value.replace(/^./su, (character) => character.toLowerCase())],
  ['#', withoutShortest],
  ['%', (value, first) => reversed(apply('#', reversed(value), [reversed(first)]))],
]);

/** What may stand after a name; the first that fits counts. */
const operators: readonly string[] = [...functions.keys()];

/** Calls the function of an operator. */
function apply(operator: string, value: string, [first = '', second]: readonly string[]): string {
  return functions.get(operator)?.(value, first, second) ?? value;
}

function withoutShortest(value: string, pattern: string): string {
  const lengths = matchingStarts(value, pattern).filter((length) => length > 0);
  return value.slice(lengths.length > 0 ? Math.min(...lengths) : 0);
}

/** `${name:position}` and `${name:position:length}`; numbers below zero count from the end. What is no number leaves the value as it is. */
function part(value: string, position: string, length: string | undefined): string {
  const characters = [...value];
  const start = wholeNumber(position);
  if (start === undefined) return value;
  const from = start < 0 ? Math.max(0, characters.length + start) : start;
  if (length === undefined) return characters.slice(from).join('');
  const count = wholeNumber(length);
  if (count === undefined) return value;
  const end = count < 0 ? characters.length + count : from + count;
  return end < from ? '' : characters.slice(from, end).join('');
}

function wholeNumber(text: string): number | undefined {
  return /^[+-]?\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/**
 * Lengths of the beginnings of a value that fit a pattern of `*` and `?`. Position by position, so that no pattern takes longer than the
 * product of both lengths.
 */
function matchingStarts(value: string, pattern: string): number[] {
  let reached = new Set([0]);
  for (const token of pattern) {
    if (reached.size === 0) break;
    reached = token === '*' ? allFrom(Math.min(...reached), value.length) : onward(reached, value, token);
  }
  return [...reached];
}

function allFrom(first: number, last: number): Set<number> {
  return new Set(Array.from({ length: last - first + 1 }, (_, index) => first + index));
}

function onward(reached: ReadonlySet<number>, value: string, token: string): Set<number> {
  const fitting = [...reached].filter((at) => at < value.length && (token === '?' || value[at] === token));
  return new Set(fitting.map((at) => at + 1));
}

function reversed(text: string): string {
  return [...text].reverse().join('');
}
