import { limits } from '../../api/limits.ts';

/** Why a text cannot be expanded. The message names the variable at most, never a value. */
export class ExpansionFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ExpansionFault';
  }
}

/** The values of variables, and whether a missing one is an error. */
export interface Variables {
  readonly values: ReadonlyMap<string, string>;
  /** Those of them that come from Secrets. */
  readonly secrets?: readonly string[];
  /** A missing variable without a default is a fault; otherwise it is empty. */
  readonly strict: boolean;
}

/**
 * What expanding may still cost. A few nested replacements can multiply a short text beyond the memory of the process, so each function
 * charges the budget before it computes its result.
 */
export interface ExpansionBudget {
  /** Characters that are read or written while expanding. */
  steps: number;
  /** Characters of the result that the object may still get. */
  characters: number;
}

/** Subtracts steps or characters from a budget. Throws ExpansionFault when it is used up. */
export function spend(budget: ExpansionBudget, what: keyof ExpansionBudget, amount: number): void {
  budget[what] -= amount;
  if (budget[what] < 0)
    throw new ExpansionFault(
      what === 'steps'
        ? 'takes too many steps to expand, together with the texts before it: use fewer or shorter variables'
        : 'makes the object, or all objects of the Source, too large: use fewer or shorter variables',
    );
}

/** Nesting of expressions. */
const maxDepth = 8;

/** A position in a text that moves on as it is read, and what it is read with. */
interface Reader {
  readonly text: string;
  readonly variables: Variables;
  readonly budget: ExpansionBudget;
  at: number;
}

/**
 * Expands `${name}` and the functions that Flux knows (`${name:=default}`, `${name:-default}`, substrings, replacements, case, trimming,
 * length); `$$` stands for `$`, and a `$` before anything but `{` for itself. Throws ExpansionFault.
 */
export function expand(text: string, variables: Variables, budget: ExpansionBudget): string {
  spend(budget, 'steps', text.length);
  const reader: Reader = { text, variables, budget, at: 0 };
  let result = '';
  while (reader.at < text.length) {
    const next = text.indexOf('$', reader.at);
    const end = next < 0 ? text.length : next;
    result += text.slice(reader.at, end);
    reader.at = end;
    if (next >= 0) result += dollar(reader);
    checkLength(result.length);
  }
  return result;
}

function checkLength(characters: number): void {
  if (characters > limits.substitutedTextCharacters)
    throw new ExpansionFault(`is longer than ${limits.substitutedTextCharacters} characters when expanded`);
}

function dollar(reader: Reader): string {
  const after = reader.text[reader.at + 1];
  if (after === '{') return expression(reader, 1);
  reader.at += after === '$' ? 2 : 1;
  return '$';
}

/** Reads `${...}` at the reader's position. */
function expression(reader: Reader, depth: number): string {
  if (depth > maxDepth) throw new ExpansionFault(`holds expressions nested deeper than ${maxDepth}`);
  reader.at += 2;
  const isLength = reader.text[reader.at] === '#';
  if (isLength) reader.at += 1;
  const name = /^[\p{L}\p{N}_]+/u.exec(reader.text.slice(reader.at, reader.at + 256))?.[0];
  if (!name)
    throw new ExpansionFault('holds "${" without a name after it; write "$${" for the characters themselves');
  reader.at += name.length;
  const operator = isLength
    ? undefined
    : operators.find((candidate) => reader.text.startsWith(candidate, reader.at));
  reader.at += operator?.length ?? 0;
  const args = operator === undefined ? [] : argumentsAt(reader, operator, depth);
  if (reader.text[reader.at] !== '}') throw unclosed();
  reader.at += 1;
  const value = valueIn(name, reader.variables, operator !== undefined && /[=\-?+]$/.test(operator));
  spend(reader.budget, 'steps', value.length);
  if (isLength) return String([...value].length);
  const [first = '', second] = args;
  const result = functions.get(operator ?? '')?.(value, first, second, reader.budget) ?? value;
  checkLength(result.length);
  return result;
}

/** The texts after an operator, up to the closing brace: one, or two where the operator knows a separator. */
function argumentsAt(reader: Reader, operator: string, depth: number): string[] {
  const isReplacement = operator.startsWith('/');
  const separator = isReplacement ? '/' : operator === ':' ? ':' : undefined;
  const args = [''];
  for (let character = reader.text[reader.at]; character !== '}'; character = reader.text[reader.at]) {
    if (character === undefined) throw unclosed();
    if (character === separator && args.length === 1) {
      reader.at += 1;
      args.push('');
      continue;
    }
    const argument = `${args.pop() ?? ''}${piece(reader, isReplacement, depth)}`;
    checkLength(argument.length);
    args.push(argument);
  }
  return args;
}

/** The next character of an argument, or the value of an expression in it. In replacements, `\/` and `\\` stand for their second character. */
function piece(reader: Reader, isReplacement: boolean, depth: number): string {
  const two = reader.text.slice(reader.at, reader.at + 2);
  if (two === '${') return expression(reader, depth + 1);
  const isEscape = isReplacement && ['\\/', '\\\\', '$$'].includes(two);
  reader.at += isEscape ? 2 : 1;
  return (isEscape ? two[1] : two[0]) ?? '';
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

/**
 * The value of an expression from that of its variable and the texts after the operator. Positions and lengths count characters. One that
 * takes longer than its texts are, or makes more than both of them, pays for that first.
 */
type Function = (value: string, first: string, second: string | undefined, budget: ExpansionBudget) => string;

const otherwise: Function = (value, first) => (value === '' ? first : value);

/** Functions of `${name...}` as Flux has them, by what stands after the name. The longer operators come first. */
const functions: ReadonlyMap<string, Function> = new Map<string, Function>([
  [':=', otherwise],
  [':-', otherwise],
  [':?', otherwise],
  [':+', otherwise],
  ['//', replaceEach],
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
  ['##', (...given) => withoutFit('start', 'longest', given)],
  ['%%', (...given) => withoutFit('end', 'longest', given)],
  ['=', otherwise],
  [':', part],
  [
    '/',
    (value, first, second = '', budget) => {
      payForSearch(value, first, budget);
      return value.replace(first, () => second);
    },
  ],
  ['^', (value) => value.replace(/^./su, (character) => character.toUpperCase())],
  [',', (value) => value.replace(/^./su, (character) => character.toLowerCase())],
  ['#', (...given) => withoutFit('start', 'shortest', given)],
  ['%', (...given) => withoutFit('end', 'shortest', given)],
]);

/** What may stand after a name; the first that fits counts. */
const operators: readonly string[] = [...functions.keys()];

/** What nearly fits at each place is compared there almost to its end. */
function payForSearch(value: string, first: string, budget: ExpansionBudget): void {
  spend(budget, 'steps', Math.max(0, value.length - first.length + 1) * first.length);
}

/** `${name//first/second}` */
function replaceEach(
  value: string,
  first: string,
  second: string | undefined,
  budget: ExpansionBudget,
): string {
  if (first === '') return value;
  payForSearch(value, first, budget);
  const by = second ?? '';
  let length = value.length;
  for (let at = value.indexOf(first); at >= 0; at = value.indexOf(first, at + first.length))
    length += by.length - first.length;
  checkLength(length);
  spend(budget, 'steps', length);
  return value.replaceAll(first, () => by);
}

/** `${name:position}` and `${name:position:length}`; numbers below zero count from the end. What is no number leaves the value as it is. */
function part(value: string, position: string, length: string | undefined): string {
  const wholeNumber = (text: string) => (/^[+-]?\d{1,9}$/.test(text) ? Number(text) : undefined);
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

/** The value without what fits a pattern at one of its ends: the longest such piece, or the shortest that is not empty. */
function withoutFit(
  side: 'start' | 'end',
  which: 'longest' | 'shortest',
  [value, pattern, , budget]: Parameters<Function>,
): string {
  const characters = [...value];
  spend(budget, 'steps', characters.length * pattern.length);
  const tokens = tokensOf(pattern);
  // As in Flux, what is no pattern fits nothing.
  if (!tokens) return value;
  if (side === 'end') for (const list of [characters, tokens]) list.reverse();
  const fitting = fittingLengths(characters, tokens);
  const length = which === 'longest' ? fitting.lastIndexOf(1) : fitting.indexOf(1, 1);
  const rest = characters.slice(Math.max(0, length));
  return (side === 'end' ? rest.reverse() : rest).join('');
}

/** Any number of characters, or whether one fits. */
type Token = '*' | ((character: string) => boolean);

/** `*`, `?`, `[a-z]`, `[^a-z]`, `\` and a character that stands for itself, or any other character. */
const tokenForm =
  /\*|\?|\[(?:(?<not>\^)|(?!\^))(?<ranges>(?:(?:\\.|[^\\\]-])(?:-(?:\\.|[^\\\]-]))?)+)\]|\\(?<escaped>.)|[^[\\]/suy;

/** The tokens of a pattern; undefined when it is none. */
function tokensOf(pattern: string): Token[] | undefined {
  const tokens: Token[] = [];
  let at = 0;
  while (at < pattern.length) {
    tokenForm.lastIndex = at;
    const found = tokenForm.exec(pattern);
    if (!found) return undefined;
    at = tokenForm.lastIndex;
    tokens.push(tokenOf(found[0], found.groups ?? {}));
  }
  return tokens;
}

function tokenOf(text: string, { not, ranges, escaped = text }: Record<string, string | undefined>): Token {
  if (text === '*') return '*';
  if (text === '?') return () => true;
  if (ranges === undefined) return (character) => character === escaped;
  const bounds = [...ranges.matchAll(/\\?(?<from>.)(?:-\\?(?<to>.))?/gsu)].map(({ groups }) => {
    const { from = '', to = from } = groups ?? {};
    return [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0] as const;
  });
  return (character) => {
    const code = character.codePointAt(0) ?? 0;
    return bounds.some(([from, to]) => from <= code && code <= to) === (not === undefined);
  };
}

/** 1 at each length of a beginning that fits the tokens. One step for each character and token, whatever they are. */
function fittingLengths(characters: readonly string[], tokens: readonly Token[]): Uint8Array {
  let reached = new Uint8Array(characters.length + 1);
  reached[0] = 1;
  for (const token of tokens) {
    const next = new Uint8Array(characters.length + 1);
    const first = reached.indexOf(1);
    if (first < 0) return next;
    if (token === '*') next.fill(1, first);
    else
      for (let at = first; at < characters.length; at += 1)
        if (reached[at] === 1 && token(characters[at] ?? '')) next[at + 1] = 1;
    reached = next;
  }
  return reached;
}
