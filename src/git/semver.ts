import { GitError } from './errors.ts';

/** A semantic version, as in semver.org 2.0; build data is ignored. */
interface Version {
  readonly numbers: readonly [number, number, number];
  readonly pre: readonly string[];
}

interface Comparator {
  readonly operator: '<' | '<=' | '>' | '>=' | '=';
  readonly version: Version;
}

const VERSION = /^v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;
const PARTIAL =
  /^(\^|~|>=|<=|>|<|=)?\s*v?(\d+|[xX*])(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(?:-([0-9A-Za-z.-]+))?(?:\+\S*)?$/;

/**
 * The item with the highest version inside the range, and all items inside it. Ranges as Flux users write them:
 * `>=1.2 <2`, `^1.2`, `~1.2.3`, `1.x`, `*`, `1.0 - 2.0`, comma or space for "and", `||` for "or". A pre-release is
 * only taken when a bound of the range is one. Throws GitError Refused for a range that cannot be read.
 */
export function highestVersion<T>(
  range: string,
  items: readonly T[],
  tagOf: (item: T) => string,
): { best: T | undefined; matching: T[] } {
  const alternatives = range.split('||').map((part) => parseComparators(part.trim(), range));
  const found = items.flatMap((item) => {
    const version = parseVersion(tagOf(item));
    const fits = version && alternatives.some((comparators) => satisfies(version, comparators));
    return fits ? [{ item, version }] : [];
  });
  found.sort((left, right) => compare(right.version, left.version));
  return { best: found[0]?.item, matching: found.map(({ item }) => item) };
}

function parseVersion(tag: string): Version | undefined {
  const match = VERSION.exec(tag);
  if (!match) return undefined;
  const [, major, minor, patch, pre] = match;
  return { numbers: [Number(major), Number(minor), Number(patch)], pre: pre ? pre.split('.') : [] };
}

function parseComparators(text: string, range: string): Comparator[] {
  const joined = text.replace(/(\S+)\s+-\s+(\S+)/g, '>=$1 <=$2').replace(/([<>=^~])\s+/g, '$1');
  return joined
    .split(/[\s,]+/)
    .filter((word) => word !== '' && word !== '*')
    .flatMap((word) => parseComparator(word, range));
}

function parseComparator(word: string, range: string): Comparator[] {
  const match = PARTIAL.exec(word);
  if (!match)
    throw new GitError(
      'Refused',
      `spec.ref.semver: ${JSON.stringify(range.slice(0, 80))} is no version range`,
    );
  const [, operator = '', ...parts] = match;
  const pre = parts[3] ? parts[3].split('.') : [];
  const given = parts
    .slice(0, 3)
    .map((part) => (part === undefined || /[xX*]/.test(part) ? undefined : Number(part)));
  const known = given.indexOf(undefined);
  const count = known === -1 ? 3 : known;
  if (count === 0) return [];
  const low: Version = { numbers: [given[0] ?? 0, given[1] ?? 0, given[2] ?? 0], pre };
  return bounds(operator, low, count);
}

/** `count` is how many numbers were written: `1.2` is everything that starts with 1.2. */
function bounds(operator: string, low: Version, count: number): Comparator[] {
  const above = nextAfter(low, count - 1);
  const from: Comparator = { operator: '>=', version: low };
  const below: Comparator = { operator: '<', version: above };
  switch (operator) {
    case '^':
      return [from, { operator: '<', version: nextAfter(low, caretIndex(low, count)) }];
    case '~':
      return [from, { operator: '<', version: nextAfter(low, Math.min(count - 1, 1)) }];
    case '>':
      return count === 3 ? [{ operator: '>', version: low }] : [{ operator: '>=', version: above }];
    case '<=':
      return count === 3 ? [{ operator: '<=', version: low }] : [below];
    case '>=':
      return [from];
    case '<':
      return [{ operator: '<', version: low }];
    default:
      return count === 3 ? [{ operator: '=', version: low }] : [from, below];
  }
}

/** The first number that is not 0 must stay the same under `^`. */
function caretIndex({ numbers }: Version, count: number): number {
  const index = numbers.findIndex((number) => number > 0);
  return index === -1 ? count - 1 : Math.min(index, count - 1);
}

function nextAfter({ numbers }: Version, index: number): Version {
  const [major, minor, patch] = numbers;
  if (index === 0) return { numbers: [major + 1, 0, 0], pre: [] };
  if (index === 1) return { numbers: [major, minor + 1, 0], pre: [] };
  return { numbers: [major, minor, patch + 1], pre: [] };
}

function satisfies(version: Version, comparators: readonly Comparator[]): boolean {
  if (version.pre.length > 0 && !comparators.some((bound) => bound.version.pre.length > 0)) return false;
  return comparators.every(({ operator, version: bound }) => {
    const order = compare(version, bound);
    if (operator === '=') return order === 0;
    if (operator === '<') return order < 0;
    if (operator === '<=') return order <= 0;
    return operator === '>' ? order > 0 : order >= 0;
  });
}

function compare(left: Version, right: Version): number {
  for (const index of [0, 1, 2] as const) {
    const difference = left.numbers[index] - right.numbers[index];
    if (difference !== 0) return difference;
  }
  if (left.pre.length === 0 || right.pre.length === 0) return right.pre.length - left.pre.length;
  return comparePre(left.pre, right.pre);
}

/** Numbers by value and below words, words by code point, a longer list above its beginning. */
function comparePre(left: readonly string[], right: readonly string[]): number {
  for (const [index, mine] of left.entries()) {
    const theirs = right[index];
    if (theirs === undefined) return 1;
    if (mine === theirs) continue;
    const [isNumber, areNumbers] = [/^\d+$/.test(mine), /^\d+$/.test(theirs)];
    if (isNumber && areNumbers) return Number(mine) - Number(theirs);
    if (isNumber !== areNumbers) return isNumber ? -1 : 1;
    return mine < theirs ? -1 : 1;
  }
  return left.length - right.length;
}
