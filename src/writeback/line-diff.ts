import { diffArrays } from 'diff';

/** Lines `start` to `end` (exclusive) of the old text became `lines`, which begin at `newStart` of the new one. */
export interface Hunk {
  readonly start: number;
  readonly end: number;
  readonly newStart: number;
  readonly lines: readonly string[];
}

/** Two texts that differ in more lines than this count as changed whole, and a change of that is then undone whole or not at all: 0.1 s to find out. */
const MAX_CHANGED_LINES = 1_000;

/** The lines of a text, each with its line end. */
export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** What changed from one text to the other, in order; hunks are separated by at least one equal line. */
export function diffLines(before: readonly string[], after: readonly string[]): Hunk[] {
  const changes = diffArrays([...before], [...after], { maxEditLength: MAX_CHANGED_LINES }) ?? [
    { removed: true, added: false, value: [...before] },
    { removed: false, added: true, value: [...after] },
  ];
  const hunks: Hunk[] = [];
  let [at, newAt] = [0, 0];
  for (const { added, removed, value } of changes) {
    const open = hunks.at(-1)?.end === at && hunks.at(-1);
    const hunk = open || { start: at, end: at, newStart: newAt, lines: [] };
    if (!removed) newAt += value.length;
    if (!added) at += value.length;
    if (!added && !removed) continue;
    const grown = { ...hunk, end: at, lines: added ? [...hunk.lines, ...value] : hunk.lines };
    hunks.splice(open ? hunks.length - 1 : hunks.length, 1, grown);
  }
  return hunks;
}
