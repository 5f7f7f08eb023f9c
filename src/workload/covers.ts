/**
 * The semantic subset compare: does a live object already say everything that is wanted? Fields the API server adds, other spellings of
 * one quantity and the order of associative lists make no difference.
 */
import { keyOf, pairingOf } from './list-keys.ts';
import { sameQuantity } from './quantity.ts';

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
const quantityMaps: ReadonlySet<string> = new Set(['limits', 'requests', 'overhead']);
const quantityFields: ReadonlySet<string> = new Set(['sizeLimit', 'divisor', 'storage']);

/** Whether every wanted field is in `live` with the same meaning. `null` and empty values are met by absence. */
export function covers(live: unknown, wanted: unknown): boolean {
  return valueCovers(live, wanted, { field: '', parent: '' });
}

interface Place {
  /** Name of the field that holds the value. */
  field: string;
  /** Name of the field that holds that one. */
  parent: string;
}

function valueCovers(live: unknown, wanted: unknown, place: Place): boolean {
  if (live === undefined || live === null) return isEmpty(wanted) && !exactMaps.has(place.parent);
  if (Array.isArray(wanted)) return Array.isArray(live) ? listCovers(live, wanted, place) : false;
  if (isRecord(wanted)) return isRecord(live) ? recordCovers(live, wanted, place) : false;
  if (live === wanted) return true;
  if (wanted === null || wanted === undefined) return false;
  return (quantityMaps.has(place.parent) || quantityFields.has(place.field)) && sameQuantity(live, wanted);
}

function recordCovers(live: Record<string, unknown>, wanted: Record<string, unknown>, place: Place): boolean {
  return Object.entries(wanted).every(([field, value]) =>
    valueCovers(Object.hasOwn(live, field) ? live[field] : undefined, value, { field, parent: place.field }),
  );
}

function listCovers(live: readonly unknown[], wanted: readonly unknown[], place: Place): boolean {
  const pairing = pairingOf(place.field, wanted);
  if (pairing.kind === 'set')
    return wanted.every((element) =>
      live.some((other) => valueCovers(other, element, { field: '', parent: place.field })),
    );
  const inner: Place = { field: '', parent: place.field };
  if (pairing.kind === 'position')
    return (
      live.length === wanted.length &&
      wanted.every((element, index) => valueCovers(live[index], element, inner))
    );
  const byKey = new Map(live.map((element) => [keyOf(element, pairing.fields), element]));
  return wanted.every((element) => valueCovers(byKey.get(keyOf(element, pairing.fields)), element, inner));
}

/** Null, and what Go calls the zero value: the API server leaves such fields out of what it returns. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && Object.values(value).every(isEmpty);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
