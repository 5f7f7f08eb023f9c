import { isMap, isSeq } from 'yaml';
import { keyText } from './values.ts';

/** One step into an object: a field's name or a position in a list. */
export type PathStep = string | number;

/** The steps of a path as messages name fields: `spec.template.containers[0]["a b"]`. What cannot be read ends the path. */
export function pathSteps(path: string): PathStep[] {
  const steps: PathStep[] = [];
  const step = /\.?([^.[\]"]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;
  for (let match = step.exec(path); match; match = step.exec(path)) {
    const [, name, index, quoted] = match;
    if (name !== undefined) steps.push(name);
    else if (index !== undefined) steps.push(Number(index));
    else if (quoted !== undefined) steps.push(String(JSON.parse(quoted)));
  }
  return steps;
}

/** Offset of the field that the steps lead to (of its key), or of the deepest one on the way that is in the text. */
export function offsetOf(root: unknown, steps: readonly PathStep[]): number {
  let node = root;
  let offset = rangeStart(root) ?? 0;
  for (const step of steps) {
    const next = child(node, step);
    if (!next) return offset;
    node = next.value;
    offset = next.offset ?? offset;
  }
  return offset;
}

function child(node: unknown, step: PathStep): { value: unknown; offset: number | undefined } | undefined {
  if (isSeq(node)) {
    const value = typeof step === 'number' ? node.items[step] : undefined;
    return value === undefined ? undefined : { value, offset: rangeStart(value) };
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => keyText(key) === String(step));
  return pair && { value: pair.value, offset: rangeStart(pair.key) };
}

function rangeStart(node: unknown): number | undefined {
  return (node as { range?: [number, ...number[]] } | null)?.range?.[0];
}
