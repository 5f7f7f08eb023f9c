/** Two versions of one object without what is secret in them. Pure. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { canonicalJson, fromEntries, isRecord, recordOf } from '../../release/json.ts';
import { hidden, isSecretName } from '../../workload/field-differences.ts';

/** Both versions; either may be absent. */
export interface Versions {
  readonly before: KubernetesObject | undefined;
  readonly after: KubernetesObject | undefined;
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
/** What SOPS puts beside what it encrypted: new at every change, and nothing that is applied. */
const sopsBlock = 'sops';

/**
 * What is secret becomes `(hidden)` where both versions have the same, else `(hidden, before)` and `(hidden, after)`: that a value changed
 * can be seen, and nothing else of it, its length included.
 */
export function masked({ before, after }: Versions): Versions {
  const pair: Pair = [plain(before), plain(after)];
  const [first, second] = hideIn(pair, '', isSecret(before ?? after));
  return { before: first as Versions['before'], after: second as Versions['after'] };
}

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
  if (!isMap(one) || !isMap(other)) return [lone(one, field, ofSecret), lone(other, field, ofSecret)];
  const keys = [...new Set([...Object.keys(one ?? {}), ...Object.keys(other ?? {})])];
  const isVariable = isSecretName(nameIn(one) ?? nameIn(other) ?? '') && keys.includes('value');
  const pairs = keys.map((key) => {
    const pair: Pair = [valueIn(one, key), valueIn(other, key)];
    const wants = isHiddenField(field, key, ofSecret) || (isVariable && key === 'value');
    if (ofSecret && (key === 'data' || key === 'metadata')) return [key, hideInSecret(pair, key)] as const;
    return [key, wants ? hide(pair) : hideIn(pair, key, false)] as const;
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
function lone(value: unknown, field: string, ofSecret: boolean): unknown {
  if (value === undefined || typeof value !== 'object' || value === null) return value;
  return hideIn([value, undefined], field, ofSecret)[0];
}

function isHiddenField(parent: string, key: string, ofSecret: boolean): boolean {
  if (parent === 'annotations') return key === lastApplied || isSecretName(key);
  return ofSecret && key === 'stringData';
}

function hide([before, after]: Pair): Pair {
  const isSame =
    before === undefined || after === undefined || canonicalJson(before) === canonicalJson(after);
  const word = (value: unknown, when: string) =>
    value === undefined ? undefined : isSame ? hidden : `(hidden, ${when})`;
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
