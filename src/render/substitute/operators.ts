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
export const operators: readonly string[] = [...functions.keys()];

/** Calls the function of an operator. */
export function apply(operator: string, value: string, [first = '', second]: readonly string[]): string {
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
