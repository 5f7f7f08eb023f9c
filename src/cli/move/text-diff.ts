/** A unified diff of small texts. Pure. */
import { linesOf, type Section, sectionsOf } from '../context-diff.ts';
import type { FileChange } from './edit.ts';

/** Lines as `diff -u` and `git apply` know them, without line feeds. */
export function unifiedDiff({ file, before, after }: FileChange): string[] {
  const sections = sectionsOf(linesOf(before), linesOf(after));
  return [
    before === undefined ? '--- /dev/null' : `--- a/${file}`,
    after === undefined ? '+++ /dev/null' : `+++ b/${file}`,
    ...sections.flatMap((section) => [placeOf(section), ...section.lines]),
  ];
}

function placeOf({ oldStart, oldEnd, newStart, newEnd }: Section): string {
  return `@@ -${range(oldStart, oldEnd)} +${range(newStart, newEnd)} @@`;
}

/** Counts from 1; where there is no line, it is the one before. */
function range(start: number, end: number): string {
  return `${start === end ? start : start + 1},${end - start}`;
}
