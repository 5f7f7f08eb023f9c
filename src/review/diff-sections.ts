/** What differs between two texts, with the equal lines around it, for diffs that people read. Pure. */
import { diffLines, type Hunk, splitLines } from '../writeback/line-diff.ts';

const contextLines = 3;

/** Changes that are near each other. Positions count from 0, `oldEnd` and `newEnd` are exclusive. */
interface Section {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
  /** Behind `-`, `+` or a space. */
  readonly lines: readonly string[];
}

/** The lines of a text without their line feeds; none of a text that is not there. */
export function linesOf(text: string | undefined): string[] {
  return splitLines(text ?? '').map((line) => line.replace(/\n$/, ''));
}

/** Sections in order, with at least one line between them that is left out. Empty: nothing differs. */
export function sectionsOf(before: readonly string[], after: readonly string[]): Section[] {
  const groups: Hunk[][] = [];
  for (const hunk of diffLines(before, after)) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    if (group && last && hunk.start - last.end <= 2 * contextLines) group.push(hunk);
    else groups.push([hunk]);
  }
  return groups.map((group) => sectionOf(group, before));
}

function sectionOf(group: readonly Hunk[], before: readonly string[]): Section {
  const [first] = group;
  const oldStart = Math.max(0, (first?.start ?? 0) - contextLines);
  const oldEnd = Math.min(before.length, (group.at(-1)?.end ?? 0) + contextLines);
  const equal = (start: number, end: number) => before.slice(start, end).map((line) => ` ${line}`);
  const lines: string[] = [];
  let at = oldStart;
  for (const { start, end, lines: added } of group) {
    lines.push(...equal(at, start));
    lines.push(...before.slice(start, end).map((line) => `-${line}`));
    lines.push(...added.map((line) => `+${line}`));
    at = end;
  }
  lines.push(...equal(at, oldEnd));
  const newStart = (first?.newStart ?? 0) - ((first?.start ?? 0) - oldStart);
  const newCount = lines.filter((line) => !line.startsWith('-')).length;
  return { oldStart, oldEnd, newStart, newEnd: newStart + newCount, lines };
}
