/** The difference of two versions of an object as lines of YAML. Pure. */
import { isRecord } from '../../release/json.ts';
import { writeYaml } from '../../render/write-yaml.ts';
import { linesOf, sectionsOf } from '../context-diff.ts';
import { masked, type Versions } from './masked.ts';

/** Of one object; what is more is counted. */
const mostLines = 400;
const gap = '...';

/** Lines behind `+`, `-` or a space; `...` for equal ones that are left out. What is secret is hidden. Empty: nothing differs. */
export function objectDiff(versions: Versions): string[] {
  const { before, after } = masked(versions);
  const old = yamlLines(before);
  const lines: string[] = [];
  let shown = 0;
  for (const section of sectionsOf(old, yamlLines(inOrderOf(after, before)))) {
    if (section.oldStart > shown) lines.push(gap);
    lines.push(...section.lines);
    shown = section.oldEnd;
  }
  if (lines.length > 0 && shown < old.length) lines.push(gap);
  return cut(lines);
}

function yamlLines(object: unknown): string[] {
  return object === undefined ? [] : linesOf(writeYaml(object));
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
