/** How Kubernetes pairs the elements of its lists: by key fields (associative), or by position (atomic). */
import { isRecord } from '../../api/kubernetes.ts';

/** Keys of associative lists by the field that holds the list; several candidates: the first whose fields elements carry. */
const listKeys: Readonly<Record<string, ReadonlyArray<readonly string[]>>> = {
  containers: [['name']],
  initContainers: [['name']],
  ephemeralContainers: [['name']],
  volumes: [['name']],
  env: [['name']],
  imagePullSecrets: [['name']],
  secrets: [['name']],
  volumeMounts: [['mountPath']],
  volumeDevices: [['devicePath']],
  hostAliases: [['ip']],
  ownerReferences: [['uid']],
  topologySpreadConstraints: [['topologyKey', 'whenUnsatisfiable']],
  ports: [
    ['containerPort', 'protocol'],
    ['port', 'protocol'],
  ],
};

/** Lists whose elements have no key but whose order and foreign elements do not matter. */
const setLists: ReadonlySet<string> = new Set(['tolerations', 'finalizers']);

/** Values the API server fills into key fields that an author left out. */
const keyDefaults: Readonly<Record<string, unknown>> = { protocol: 'TCP' };

/** How the elements of a list are paired with those of another. */
type ListPairing = { kind: 'position' } | { kind: 'set' } | { kind: 'key'; fields: readonly string[] };

/** The pairing of the list in `field`; by position if elements lack their key fields or repeat a key. */
export function pairingOf(field: string, elements: readonly unknown[]): ListPairing {
  if (setLists.has(field)) return { kind: 'set' };
  const fields = listKeys[field]?.find(([first = '']) =>
    elements.every((element) => isRecord(element) && element[first] !== undefined),
  );
  if (!fields) return { kind: 'position' };
  const keys = new Set(elements.map((element) => elementKey(element, fields)));
  return keys.size === elements.length ? { kind: 'key', fields } : { kind: 'position' };
}

/** An element's key as text; key fields left out count with the API server's default. */
export function elementKey(element: unknown, fields: readonly string[]): string {
  const record = (element ?? {}) as Record<string, unknown>;
  return JSON.stringify(fields.map((field) => record[field] ?? keyDefaults[field] ?? null));
}

/** Whether an element has this key as managedFields writes it: an object of fields and values. */
export function answersToKey(element: unknown, key: Readonly<Record<string, unknown>>): boolean {
  const record = (element ?? {}) as Record<string, unknown>;
  return Object.entries(key).every(([field, value]) => (record[field] ?? keyDefaults[field]) === value);
}
