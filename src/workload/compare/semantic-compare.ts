/**
 * The semantic comparison: does a live object have every wanted field? Fields the API server adds, other spellings of
 * one quantity and the order of associative lists make no difference.
 */
import { canonicalJson, isRecord } from '../../api/kubernetes.ts';
import { elementKey, pairingOf } from './list-keys.ts';
import { sameQuantity } from './quantity.ts';

/** One field at which a live object differs from what is wanted. */
export interface Difference {
  /** `spec.template.spec.containers[app].image`; an element of an associative list by its key, of others by its position. */
  readonly path: string;
  readonly wanted: unknown;
  /** Undefined: there is nothing. */
  readonly live: unknown;
}

/** Maps whose entries count even when empty: the API server keeps `key: ""` here, elsewhere it drops empty values. */
const exactMaps: ReadonlySet<string> = new Set([
  'labels',
  'annotations',
  'data',
  'binaryData',
  'matchLabels',
  'nodeSelector',
  'selector',
]);
const quantityMaps: ReadonlySet<string> = new Set(['limits', 'requests', 'overhead', 'hard']);
const quantityFields: ReadonlySet<string> = new Set(['sizeLimit', 'divisor', 'storage', 'averageValue']);

/** Maps to which each writer adds entries of its own. */
const sharedMaps: ReadonlySet<string> = new Set(['labels', 'annotations', 'data', 'binaryData']);

/** Fields that the API server keeps at false or zero, since they mean something else when they are left out. */
const keptAtZero: ReadonlySet<string> = new Set([
  'allowPrivilegeEscalation',
  'automountServiceAccountToken',
  'fsGroup',
  'maxUnavailable',
  'minAvailable',
  'runAsGroup',
  'runAsNonRoot',
  'runAsUser',
  'stabilizationWindowSeconds',
  'startingDeadlineSeconds',
  'tolerationSeconds',
  'ttlSecondsAfterFinished',
]);

/** Where the API server stores an amount, in a spelling of its own. */
function isQuantity({ field, parent, from }: Place): boolean {
  const isOfMetric = field === 'value' && parent === 'target';
  // The maps of a LimitRange: `limits[0].max.cpu`.
  const isOfRange = from?.from?.parent === 'limits';
  return quantityMaps.has(parent) || quantityFields.has(field) || isOfMetric || isOfRange;
}

/** Values of a pod template or a Service that have one owner, and to which the API server adds nothing: what somebody adds to them changes them. */
const wholeOfWorkload: ReadonlySet<string> = new Set(['nodeSelector', 'selector', 'tolerations']);

/** Whether every wanted field is in `live` with the same meaning. `null` and empty values are met by absence, but for those that are `keptAtZero`. */
export function covers(live: unknown, wanted: unknown): boolean {
  return compareValues(live, wanted, root, undefined);
}

/** The same of a workload that Holdfast generates, in whose template also counts what somebody adds to values that have one owner. */
export function coversWorkload(live: unknown, wanted: unknown): boolean {
  return compareValues(live, wanted, workloadRoot, undefined);
}

/** Every field at which `live` differs from what is wanted; empty exactly when it covers it. */
export function differencesOf(live: unknown, wanted: unknown): Difference[] {
  return differencesFrom(live, wanted, root);
}

/** Every field at which such a workload differs; empty exactly when it is covered. */
export function workloadDifferencesOf(live: unknown, wanted: unknown): Difference[] {
  return differencesFrom(live, wanted, workloadRoot);
}

/** The same between two answers of the API server. What it keeps counts, also if it is empty: of a custom resource that is every field. */
export function storedDifferencesOf(live: unknown, wanted: unknown): Difference[] {
  return differencesFrom(live, wanted, storedRoot);
}

interface Place {
  /** Name of the field that holds the value. */
  readonly field: string;
  /** Name of the field that holds that one. */
  readonly parent: string;
  /** The last step of the path, and the place it leads on from. */
  readonly step: string;
  readonly from: Place | undefined;
  /** Absence is no other spelling of an empty value. */
  readonly isStored?: boolean | undefined;
  /** What is added to `wholeOfWorkload` is a difference. */
  readonly isWorkload?: boolean | undefined;
}

const root: Place = { field: '', parent: '', step: '', from: undefined };
const storedRoot: Place = { ...root, isStored: true };
const workloadRoot: Place = { ...root, isWorkload: true };

function differencesFrom(live: unknown, wanted: unknown, place: Place): Difference[] {
  const found: Difference[] = [];
  compareValues(live, wanted, place, found);
  return found;
}

/** Collects into `found`; without it, it stops at the first difference. */
function compareValues(
  live: unknown,
  wanted: unknown,
  place: Place,
  found: Difference[] | undefined,
): boolean {
  const isThere = live !== undefined && live !== null;
  if (place.isWorkload && wholeOfWorkload.has(place.field) && sizeOf(live) > sizeOf(wanted))
    return differ(live, wanted, place, found);
  if (isThere && Array.isArray(wanted) && Array.isArray(live))
    return compareLists(live, wanted, place, found);
  if (isThere && isRecord(wanted) && isRecord(live)) return compareRecords(live, wanted, place, found);
  // An apply of nothing takes no entry of others away.
  if (wanted === null && isRecord(live) && (sharedMaps.has(place.field) || sizeOf(live) === 0)) return true;
  const isMet = isThere
    ? sameScalar(live, wanted, place)
    : (wanted ?? null) === null ||
      (isEmpty(wanted, place.field) && !exactMaps.has(place.parent) && !place.isStored);
  if (isMet) return true;
  return differ(live, wanted, place, found);
}

function compareRecords(
  live: Record<string, unknown>,
  wanted: Record<string, unknown>,
  place: Place,
  found: Difference[] | undefined,
): boolean {
  return every(Object.entries(wanted), found, ([field, value]) =>
    compareValues(
      Object.hasOwn(live, field) ? live[field] : undefined,
      value,
      {
        field,
        parent: place.field,
        step: /^[\w-]+$/.test(field) ? `.${field}` : `[${field}]`,
        from: place,
        isStored: place.isStored,
        isWorkload: place.isWorkload,
      },
      found,
    ),
  );
}

function compareLists(
  live: readonly unknown[],
  wanted: readonly unknown[],
  place: Place,
  found: Difference[] | undefined,
): boolean {
  const pairing = pairingOf(place.field, wanted);
  const { field: parent, isStored } = place;
  const inner = (step: string): Place => ({ field: '', parent, step: `[${step}]`, from: place, isStored });
  if (pairing.kind === 'set') {
    const isIn =
      live.length * wanted.length > mostPairs
        ? isOneOf(live, isStored)
        : (element: unknown) => live.some((one) => compareValues(one, element, inner(''), undefined));
    return every(
      wanted,
      found,
      (element, index) => isIn(element) || differ(undefined, element, inner(String(index)), found),
    );
  }
  if (pairing.kind === 'position') {
    if (live.length !== wanted.length) return differ(live, wanted, place, found);
    return every(wanted, found, (element, index) =>
      compareValues(live[index], element, inner(String(index)), found),
    );
  }
  const { fields } = pairing;
  const byKey = new Map(live.map((element) => [elementKey(element, fields), element]));
  return every(wanted, found, (element) => {
    const key = elementKey(element, fields);
    // As people write it: `app`, `8080/TCP`.
    const step = (JSON.parse(key) as unknown[]).map(String).join('/');
    return compareValues(byKey.get(key), element, inner(step), found);
  });
}

/** Pairs of elements that are compared with each other; of longer lists it would take seconds, and anybody may write thousands of tolerations. */
const mostPairs = 10_000;

/** The same for long lists: whether an element is one of these but for empty fields. */
function isOneOf(elements: readonly unknown[], isStored = false): (element: unknown) => boolean {
  const textOf = (element: unknown): string => {
    if (isStored || !isRecord(element)) return canonicalJson(element);
    return canonicalJson(
      Object.fromEntries(Object.entries(element).filter(([field, value]) => !isEmpty(value, field))),
    );
  };
  const texts = new Set(elements.map(textOf));
  return (element) => texts.has(textOf(element));
}

/** All items are looked at when differences are collected, else as few as it takes. */
function every<T>(
  items: readonly T[],
  found: Difference[] | undefined,
  test: (item: T, index: number) => boolean,
): boolean {
  if (!found) return items.every(test);
  return items.filter((item, index) => !test(item, index)).length === 0;
}

function differ(live: unknown, wanted: unknown, place: Place, found: Difference[] | undefined): false {
  const steps: string[] = [];
  for (let at: Place | undefined = place; at; at = at.from) steps.unshift(at.step);
  found?.push({ path: steps.join('').replace(/^\./, ''), wanted, live });
  return false;
}

/** How many fields or elements a value has. */
function sizeOf(value: unknown): number {
  return Object.keys(value ?? {}).length;
}

function sameScalar(live: unknown, wanted: unknown, place: Place): boolean {
  if (live === wanted) return true;
  if (wanted === null || wanted === undefined || typeof wanted === 'object') return false;
  return isQuantity(place) && sameQuantity(live, wanted);
}

/** Null, and what Go calls the zero value: the API server leaves such fields out of what it returns, but no map with entries that count. */
function isEmpty(value: unknown, field: string): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (value === 0 || value === false) return !keptAtZero.has(field);
  if (Array.isArray(value)) return value.length === 0;
  const counts = exactMaps.has(field);
  return (
    isRecord(value) &&
    Object.entries(value).every(([name, inner]) => inner === null || (!counts && isEmpty(inner, name)))
  );
}
