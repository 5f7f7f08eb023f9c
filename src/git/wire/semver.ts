import { compareBuild, parse, Range, type SemVer } from 'semver';
import { GitError } from '../errors.ts';

/** Versions inside one alternative of a range: of `range`, and of none of `not`. */
interface Alternative {
  readonly range: Range;
  readonly not: readonly Range[];
}

/**
 * The item with the highest version inside the range, and all items inside it. Ranges mean what they mean to Flux (Masterminds semver 3):
 * `>=1.2 <2`, `^1.2`, `~1.2.3`, `1.x`, `*`, `1.0 - 2.0`, `!=1.4.2`, comma or space for "and", `||` for "or". An alternative takes pre-releases where one
 * of its bounds is one. A tag is a version with or without a `v` before it; of two that differ in their build alone (`1.2.0+5`), the higher build
 * counts. A server may list hundreds of thousands of tags: `pause` is awaited
 * between them. Throws GitError Refused for a range that cannot be read.
 */
export async function highestVersion<T>(
  range: string,
  items: readonly T[],
  tagOf: (item: T) => string,
  pause: () => Promise<void>,
): Promise<{ best: T | undefined; matching: T[] }> {
  const alternatives = alternativesOf(range);
  if (typeof alternatives === 'string') throw new GitError('Refused', `spec.ref.semver: ${alternatives}`);
  const found: Array<{ readonly item: T; readonly version: SemVer }> = [];
  for (const item of items) {
    await pause();
    const version = parse(tagOf(item));
    if (!version) continue;
    const isInside = alternatives.some(
      ({ range: bounds, not }) => bounds.test(version) && !not.some((one) => one.test(version)),
    );
    if (isInside) found.push({ item, version });
  }
  found.sort((left, right) => compareBuild(right.version, left.version));
  return { best: found[0]?.item, matching: found.map(({ item }) => item) };
}

/** Why a range cannot be read, or undefined. */
export function rangeProblem(range: string): string | undefined {
  const read = alternativesOf(range);
  return typeof read === 'string' ? read : undefined;
}

function alternativesOf(range: string): Alternative[] | string {
  try {
    return range.split('||').map(alternativeOf);
  } catch {
    return `${JSON.stringify(range.slice(0, 80))} is not a version range`;
  }
}

const NOT = /!=\s*([^\s,]+)/g;
/** To Flux every version is about 0.0.0. */
const ANY = /~>?\s*v?0\.0\.0(?:-[^\s,]*)?(?=[\s,]|$)/g;

/** Throws for one that cannot be read. */
function alternativeOf(text: string): Alternative {
  const includePrerelease = /\d-[0-9A-Za-z]/.test(text);
  const withPatch = (_: string, operator: string, major: string, minor = '0') =>
    `${operator}${major}.${minor}.0`;
  const read = (words: string) =>
    new Range(includePrerelease ? words.replace(BOUND, withPatch) : words, { includePrerelease });
  const bounds = text
    .replace(NOT, ' ')
    .replace(ANY, '*')
    .replaceAll(',', ' ')
    .replaceAll('=>', '>=')
    .replaceAll('=<', '<=');
  return { range: read(bounds), not: [...text.matchAll(NOT)].map(([, version = '']) => read(version)) };
}

/** `>=1.2` next to a pre-release is `>=1.2.0`, without those of 1.2.0, and `<2` is `<2.0.0`, with them. */
const BOUND = /(>=|<)\s*v?(\d+)(?:\.(\d+))?(?:\.[xX*])?(?=[\s]|$)/g;
