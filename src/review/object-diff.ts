/** The difference of two versions of an object as lines of YAML. Pure. */
import { canonicalJson, fromEntries, isRecord, type KubernetesObject, recordOf } from '../api/kubernetes.ts';
import { writeYaml } from '../render/yaml/values.ts';
import { isSecretName, redacted } from '../workload/compare/difference-text.ts';
import { linesOf, sectionsOf } from './diff-sections.ts';

/** Of one object; further lines are counted. */
const mostLines = 400;
const gap = '...';

/**
 * Lines behind `+`, `-` or a space; `...` for equal ones that are left out. Empty: nothing differs. What is secret becomes `(hidden)` where both
 * versions have the same, else `(hidden, before)` and `(hidden, after)`: that a value changed can be seen, and nothing else of it, its length
 * included.
 */
export function objectDiff({ before, after }: Versions): string[] {
  const [oldObject, newObject] = hideIn([plain(before), plain(after)], '', isSecret(before ?? after));
  const yamlLines = (object: unknown) => (object === undefined ? [] : linesOf(writeYaml(object)));
  const old = yamlLines(oldObject);
  const lines: string[] = [];
  let shown = 0;
  for (const section of sectionsOf(old, yamlLines(inOrderOf(newObject, oldObject)))) {
    if (section.oldStart > shown) lines.push(gap);
    lines.push(...section.lines);
    shown = section.oldEnd;
  }
  if (lines.length > 0 && shown < old.length) lines.push(gap);
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

// Two versions of one object without what is secret in them. Pure.

/** Both versions; either may be absent. */
interface Versions {
  readonly before: KubernetesObject | undefined;
  readonly after: KubernetesObject | undefined;
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
/** Metadata of SOPS in an encrypted file: new at every change, and never applied. */
const sopsBlock = 'sops';

type Pair = readonly [before: unknown, after: unknown];

function isSecret(object: KubernetesObject | undefined): boolean {
  return object?.kind === 'Secret' && object.apiVersion === 'v1';
}

/** A Secret with all its values under `data`: whether they came encoded or not is no difference. */
function plain(object: KubernetesObject | undefined): KubernetesObject | undefined {
  if (!object) return undefined;
  const { [sopsBlock]: _, ...rest } = object as KubernetesObject & { sops?: unknown };
  if (!isSecret(object)) return rest as KubernetesObject;
  const { stringData, data, ...others } = rest;
  const decoded = Object.entries(recordOf(data)).map(
    ([key, value]) => [key, Buffer.from(String(value ?? ''), 'base64').toString('latin1')] as const,
  );
  const written = Object.entries(recordOf(stringData)).map(
    ([key, value]) => [key, Buffer.from(String(value ?? '')).toString('latin1')] as const,
  );
  if (decoded.length + written.length === 0) return others as KubernetesObject;
  return { ...others, data: fromEntries([...decoded, ...written]) } as KubernetesObject;
}

/** `field`: name of the field that holds the values. `ofSecret`: they stand at the top of a Secret. */
function hideIn([one, other]: Pair, field: string, ofSecret: boolean): Pair {
  if (isSealed(one) || isSealed(other)) return hide([one, other]);
  if (isList(one) && isList(other)) return hideInLists([one ?? [], other ?? []], [one, other], field);
  if (!isMap(one) || !isMap(other))
    return [hideUnpaired(one, field, ofSecret), hideUnpaired(other, field, ofSecret)];
  const keys = [...new Set([...Object.keys(one ?? {}), ...Object.keys(other ?? {})])];
  const isVariable = isSecretName(nameIn(one) ?? nameIn(other) ?? '') && keys.includes('value');
  const pairs = keys.map((key) => {
    const pair: Pair = [valueIn(one, key), valueIn(other, key)];
    if (ofSecret && (key === 'data' || key === 'metadata')) return [key, hideInSecret(pair, key)] as const;
    const isHidden =
      field === 'annotations'
        ? key === lastApplied || isSecretName(key)
        : (ofSecret && key === 'stringData') || (isVariable && key === 'value');
    return [key, isHidden ? hide(pair) : hideIn(pair, key, false)] as const;
  });
  return [side(one, pairs, 0), side(other, pairs, 1)];
}

/** Values by key, and annotations, which may hold a copy of the manifest. */
function hideInSecret([before, after]: Pair, key: string): Pair {
  if (key === 'metadata') {
    const held: Pair = [recordOf(before).annotations, recordOf(after).annotations];
    const [one, other] = hideInSecret(held, 'annotations');
    const withAnnotations = (metadata: unknown, annotations: unknown) =>
      isRecord(metadata) ? { ...metadata, ...(annotations === undefined ? {} : { annotations }) } : metadata;
    return [withAnnotations(before, one), withAnnotations(after, other)];
  }
  const keys = [...new Set([...Object.keys(recordOf(before)), ...Object.keys(recordOf(after))])];
  const pairs = keys.map((name) => [name, hide([recordOf(before)[name], recordOf(after)[name]])] as const);
  return [side(before, pairs, 0), side(after, pairs, 1)];
}

/** Elements with a name are compared with those of the same name, others by their place. */
function hideInLists(
  [one, other]: readonly [readonly unknown[], readonly unknown[]],
  [before, after]: Pair,
  field: string,
): Pair {
  const matching = (list: readonly unknown[], element: unknown, index: number) => {
    const name = nameIn(element);
    return name === undefined ? list[index] : list.find((candidate) => nameIn(candidate) === name);
  };
  const first = one.map(
    (element, index) => hideIn([element, matching(other, element, index)], field, false)[0],
  );
  const second = other.map(
    (element, index) => hideIn([matching(one, element, index), element], field, false)[1],
  );
  return [before === undefined ? undefined : first, after === undefined ? undefined : second];
}

/** Of a value whose counterpart is of another type. */
function hideUnpaired(value: unknown, field: string, ofSecret: boolean): unknown {
  if (value === undefined || typeof value !== 'object' || value === null) return value;
  return hideIn([value, undefined], field, ofSecret)[0];
}

function hide([before, after]: Pair): Pair {
  const isSame =
    before === undefined || after === undefined || canonicalJson(before) === canonicalJson(after);
  const word = (value: unknown, when: string) =>
    value === undefined ? undefined : isSame ? redacted : `(hidden, ${when})`;
  return [word(before, 'before'), word(after, 'after')];
}

function side(
  original: unknown,
  pairs: ReadonlyArray<readonly [string, Pair]>,
  index: 0 | 1,
): Record<string, unknown> | undefined {
  if (original === undefined) return undefined;
  const held = recordOf(original);
  return fromEntries(
    pairs.filter(([key]) => Object.hasOwn(held, key)).map(([key, pair]) => [key, pair[index]]),
  );
}

function isSealed(value: unknown): boolean {
  return typeof value === 'string' && value.includes('ENC[AES256_GCM,');
}

function isList(value: unknown): value is unknown[] | undefined {
  return value === undefined || Array.isArray(value);
}

function isMap(value: unknown): value is Record<string, unknown> | undefined {
  return value === undefined || isRecord(value);
}

function valueIn(map: Record<string, unknown> | undefined, key: string): unknown {
  return map && Object.hasOwn(map, key) ? map[key] : undefined;
}

function nameIn(value: unknown): string | undefined {
  const { name } = recordOf(value);
  return typeof name === 'string' ? name : undefined;
}
