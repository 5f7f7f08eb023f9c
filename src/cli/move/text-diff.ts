/** A unified diff of small texts. Pure. */
import type { FileChange } from './edit.ts';

const contextLines = 3;

interface Line {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

/** Lines as `diff -u` and `git apply` know them, without line feeds. */
export function diffLines({ file, before, after }: FileChange): string[] {
  const lines = compared(linesOf(before), linesOf(after));
  const header = [
    before === undefined ? '--- /dev/null' : `--- a/${file}`,
    after === undefined ? '+++ /dev/null' : `+++ b/${file}`,
  ];
  return [...header, ...hunksOf(lines)];
}

function linesOf(text: string | undefined): string[] {
  if (!text) return [];
  return text.replace(/\n$/, '').split('\n');
}

/** What begins and ends alike is left out of the comparison, which grows with the product of both. */
function compared(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return [
    ...before.slice(0, start).map(same),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

/** Comparing more pairs of lines than this is not worth its memory. */
const mostPairs = 4_000_000;

/** By the longest common subsequence. */
function middle(before: readonly string[], after: readonly string[]): Line[] {
  if (before.length * after.length > mostPairs) return [...before.map(removed), ...after.map(added)];
  const left = leftInCommon(before, after);
  const lines: Line[] = [];
  let [row, column] = [0, 0];
  while (row < before.length && column < after.length) {
    const [old, next] = [before[row] ?? '', after[column] ?? ''];
    if (old === next) lines.push(same(old));
    else if (left(row + 1, column) >= left(row, column + 1)) lines.push(removed(old));
    else lines.push(added(next));
    const { sign } = lines.at(-1) ?? same('');
    row += sign === '+' ? 0 : 1;
    column += sign === '-' ? 0 : 1;
  }
  return [...lines, ...before.slice(row).map(removed), ...after.slice(column).map(added)];
}

/** How many lines two ends of the texts have in common, by where they begin. */
function leftInCommon(
  before: readonly string[],
  after: readonly string[],
): (row: number, column: number) => number {
  const width = after.length + 1;
  const common = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number) => common[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1)
    for (let column = after.length - 1; column >= 0; column -= 1)
      common[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  return at;
}

function same(text: string): Line {
  return { sign: ' ', text };
}

function removed(text: string): Line {
  return { sign: '-', text };
}

function added(text: string): Line {
  return { sign: '+', text };
}

function hunksOf(lines: readonly Line[]): string[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - contextLines), index + contextLines + 1).some(({ sign }) => sign !== ' '),
  );
  const out: string[] = [];
  let [oldLine, newLine] = [1, 1];
  for (let index = 0; index < lines.length; index += 1) {
    if (isNear[index] && !isNear[index - 1]) {
      const end = isNear.indexOf(false, index);
      const hunk = lines.slice(index, end < 0 ? undefined : end);
      const count = (sign: Line['sign']) => hunk.filter((line) => line.sign !== sign).length;
      const place = (line: number, lines: number) => `${lines === 0 ? line - 1 : line},${lines}`;
      out.push(`@@ -${place(oldLine, count('+'))} +${place(newLine, count('-'))} @@`);
      out.push(...hunk.map(({ sign, text }) => sign + text));
    }
    oldLine += lines[index]?.sign === '+' ? 0 : 1;
    newLine += lines[index]?.sign === '-' ? 0 : 1;
  }
  return out;
}
