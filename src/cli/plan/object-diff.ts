/** The difference of two versions of an object as lines of YAML. Pure. */
import { isRecord } from '../../release/json.ts';
import { writeYaml } from '../../render/write-yaml.ts';
import { diffLines, splitLines } from '../../writeback/line-diff.ts';
import { masked, type Versions } from './masked.ts';

const contextLines = 3;
/** Of one object; what is more is counted. */
const mostLines = 400;
const gap = '...';

/** Lines behind `+`, `-` or a space; `...` for equal ones that are left out. What is secret is hidden. Empty: nothing differs. */
export function objectDiff(versions: Versions): string[] {
  const { before, after } = masked(versions);
  const [old, now] = [linesOf(before), linesOf(inOrderOf(after, before))];
  const hunks = diffLines(old, now);
  const lines: string[] = [];
  let shown = 0;
  for (const [index, { start, end, lines: added }] of hunks.entries()) {
    const from = Math.max(shown, start - contextLines);
    if (from > shown) lines.push(gap);
    const next = hunks[index + 1]?.start ?? old.length;
    const until = Math.min(next, end + contextLines);
    lines.push(...old.slice(from, start).map((line) => ` ${line}`));
    lines.push(...old.slice(start, end).map((line) => `-${line}`));
    lines.push(...added.map((line) => `+${line}`));
    lines.push(...old.slice(end, until).map((line) => ` ${line}`));
    shown = until;
  }
  if (hunks.length > 0 && shown < old.length) lines.push(gap);
  return cut(lines);
}

function linesOf(object: unknown): string[] {
  return object === undefined ? [] : splitLines(writeYaml(object)).map((line) => line.replace(/\n$/, ''));
}

function cut(lines: string[]): string[] {
  if (lines.length <= mostLines) return lines;
  return [...lines.slice(0, mostLines), `${gap} ${lines.length - mostLines} more lines`];
}

/** Fields of maps in the order of the other version: moving a field is no change. */
function inOrderOf(value: unknown, other: unknown): unknown {
  if (Array.isArray(value) && Array.isArray(other))
    return value.map((element, index) => inOrderOf(element, other[index]));
  if (!isRecord(value) || !isRecord(other)) return value;
  const keys = [
    ...Object.keys(other).filter((key) => Object.hasOwn(value, key)),
    ...Object.keys(value).filter((key) => !Object.hasOwn(other, key)),
  ];
  return Object.fromEntries(keys.map((key) => [key, inOrderOf(value[key], other[key])]));
}
