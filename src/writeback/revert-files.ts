import { diffLines, type Hunk, splitLines } from './line-diff.ts';

/** One file at the three commits of a revert; undefined where it does not exist. */
export interface FileVersions {
  readonly path: string;
  /** At the rejected commit. */
  readonly bad: Uint8Array | undefined;
  /** Where the branch is now. */
  readonly head: Uint8Array | undefined;
  /** At the last-known-good's commit. */
  readonly good: Uint8Array | undefined;
  /**
   * Lines, from 1, at which objects of the Canary begin in `bad` and in `good`: only hunks in their documents are undone. Absent: all hunks.
   */
  readonly only?: { readonly bad: readonly number[]; readonly good: readonly number[] };
}

/** What must be written to undo a release, and files in which the same lines were changed since. */
export interface RevertedFiles {
  /** New content by path; undefined deletes the file. Files that are right already are left out. */
  readonly changes: ReadonlyMap<string, Uint8Array | undefined>;
  readonly conflicts: readonly string[];
}

type Outcome = { readonly bytes: Uint8Array | undefined } | 'conflict' | 'same';

/**
 * Reverts what the rejected commit changed against the last-known-good, and keeps later changes: a three-way merge per file with the rejected
 * commit as base. Changes that touch one another are a conflict.
 */
export function revertFiles(files: readonly FileVersions[]): RevertedFiles {
  const changes = new Map<string, Uint8Array | undefined>();
  const conflicts: string[] = [];
  for (const file of files) {
    const outcome = revertFile(file);
    if (outcome === 'conflict') conflicts.push(file.path);
    else if (outcome !== 'same') changes.set(file.path, outcome.bytes);
  }
  return { changes, conflicts };
}

function revertFile(file: FileVersions): Outcome {
  const { bad, head, good } = file;
  if (same(bad, good) || same(head, good)) return 'same';
  const texts = [bad, head, good].map(textOf);
  const [base, ours, theirs] = texts;
  const isText = base !== undefined && ours !== undefined && theirs !== undefined;
  // A file that was added or deleted, or that is no text.
  if (!isText) return same(bad, head) ? { bytes: good } : 'conflict';
  const merged = merge(splitLines(base), splitLines(ours), ownHunks(file, base, theirs));
  if (merged === undefined) return 'conflict';
  return merged === ours ? 'same' : { bytes: Buffer.from(merged, 'utf8') };
}

/** The changes back to the last-known-good, without those in documents of other objects. */
function ownHunks({ only }: FileVersions, base: string, theirs: string): Hunk[] {
  const [before, after] = [splitLines(base), splitLines(theirs)];
  const hunks = diffLines(before, after);
  if (!only) return hunks;
  const own = documentsWith(before, only.bad);
  const ownAfter = documentsWith(after, only.good);
  // Lines that are inserted belong to the document that they end or are inside of.
  const touches = (range: Range, start: number, end: number): boolean => {
    if (start < end) return start < range.end && end > range.start;
    return start <= range.end && (start > range.start || range.start === 0);
  };
  return hunks.filter(
    ({ start, end, newStart, lines }) =>
      own.some((range) => touches(range, start, end)) ||
      ownAfter.some((range) => touches(range, newStart, newStart + lines.length)),
  );
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Line ranges of the YAML documents that hold one of these lines. */
function documentsWith(lines: readonly string[], wanted: readonly number[]): Range[] {
  const starts = [
    0,
    ...lines.flatMap((line, index) => (index > 0 && /^---(\s|$)/.test(line) ? [index] : [])),
  ];
  return starts
    .map((start, index) => ({ start, end: starts[index + 1] ?? lines.length }))
    .filter(({ start, end }) => wanted.some((line) => line - 1 >= start && line - 1 < end));
}

/** Both changes of the base in one text; undefined when they touch one another and differ. */
function merge(
  base: readonly string[],
  ours: readonly string[],
  theirs: readonly Hunk[],
): string | undefined {
  const mine = diffLines(base, ours);
  const meets = (left: Hunk, right: Hunk) => left.start <= right.end && right.start <= left.end;
  const isEqual = (left: Hunk, right: Hunk) =>
    left.start === right.start && left.end === right.end && left.lines.join('') === right.lines.join('');
  if (theirs.some((hunk) => mine.some((other) => meets(hunk, other) && !isEqual(hunk, other))))
    return undefined;
  const added = theirs.filter((hunk) => !mine.some((other) => meets(hunk, other)));
  const hunks = [...mine, ...added].sort((left, right) => left.start - right.start);
  const result: string[] = [];
  let at = 0;
  for (const { start, end, lines } of hunks) {
    result.push(...base.slice(at, start), ...lines);
    at = end;
  }
  return [...result, ...base.slice(at)].join('');
}

function same(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return Buffer.compare(left, right) === 0;
}

function textOf(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
