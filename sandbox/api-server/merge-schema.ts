import { isRecord, recordOf } from '../../src/api/kubernetes.ts';

/**
 * How server-side apply merges one value. Without a node: objects are merged field by field, lists are atomic, which is also
 * what a real API server does for lists that declare no type.
 */
export interface MergeNode {
  /** The value has one owner as a whole. */
  readonly atomic?: boolean;
  /** A list of scalars, merged as a set. */
  readonly set?: boolean;
  /** A list of objects, merged by these fields. */
  readonly keys?: readonly string[];
  /** Values of key fields that an item leaves out. */
  readonly keyDefaults?: Readonly<Record<string, unknown>>;
  /** Children of an object, or of each item of a keyed list. */
  readonly fields?: Readonly<Record<string, MergeNode>>;
  /** Every child that `fields` does not name. */
  readonly anyField?: MergeNode;
}

const ATOMIC: MergeNode = { atomic: true };
const EMPTY: MergeNode = {};

function listBy(keys: readonly string[], fields: Record<string, MergeNode> = {}): MergeNode {
  return { keys, fields };
}

/** The node of a child field. */
export function childNode(node: MergeNode, field: string): MergeNode {
  return node.fields?.[field] ?? node.anyField ?? EMPTY;
}

const CONDITIONS = listBy(['type']);
const METADATA: MergeNode = {
  fields: { ownerReferences: { keys: ['uid'], anyField: EMPTY }, finalizers: { set: true } },
};

const ENV = listBy(['name'], {
  valueFrom: {
    fields: { configMapKeyRef: ATOMIC, secretKeyRef: ATOMIC, fieldRef: ATOMIC, resourceFieldRef: ATOMIC },
  },
});
const CONTAINERS = listBy(['name'], {
  ports: { keys: ['containerPort', 'protocol'], keyDefaults: { protocol: 'TCP' } },
  env: ENV,
  volumeMounts: listBy(['mountPath']),
  volumeDevices: listBy(['devicePath']),
});
const POD_SPEC: MergeNode = {
  fields: {
    containers: CONTAINERS,
    initContainers: CONTAINERS,
    ephemeralContainers: CONTAINERS,
    volumes: listBy(['name']),
    imagePullSecrets: listBy(['name']),
    hostAliases: listBy(['ip']),
    nodeSelector: ATOMIC,
    topologySpreadConstraints: listBy(['topologyKey', 'whenUnsatisfiable']),
  },
};
const TEMPLATE: MergeNode = { fields: { metadata: METADATA, spec: POD_SPEC } };
const STATUS: MergeNode = { fields: { conditions: CONDITIONS } };

/** Objects without lists of their own that merge. */
export const PLAIN_MERGE: MergeNode = { fields: { metadata: METADATA, status: STATUS } };

/** Deployment, ReplicaSet, DaemonSet, StatefulSet. */
export const WORKLOAD_MERGE: MergeNode = {
  fields: { metadata: METADATA, spec: { fields: { selector: ATOMIC, template: TEMPLATE } }, status: STATUS },
};

/** Pod. */
export const POD_MERGE: MergeNode = { fields: { metadata: METADATA, spec: POD_SPEC, status: STATUS } };

/** Service. */
export const SERVICE_MERGE: MergeNode = {
  fields: {
    metadata: METADATA,
    spec: {
      fields: { ports: { keys: ['port', 'protocol'], keyDefaults: { protocol: 'TCP' } }, selector: ATOMIC },
    },
    status: STATUS,
  },
};

/** ServiceAccount. */
export const SERVICE_ACCOUNT_MERGE: MergeNode = { fields: { metadata: METADATA, secrets: listBy(['name']) } };

/** The merge rules that a custom resource's OpenAPI schema declares (`x-kubernetes-list-type` and `-map-type`). */
export function mergeFromSchema(schema: unknown): MergeNode {
  const converted = convert(schema);
  return { ...converted, fields: { ...converted.fields, metadata: METADATA } };
}

function convert(schema: unknown): MergeNode {
  if (!isRecord(schema)) return EMPTY;
  if (schema.type === 'array') return convertList(schema);
  const fields = Object.entries(recordOf(schema.properties)).map(
    ([name, child]) => [name, convert(child)] as const,
  );
  return {
    ...(schema['x-kubernetes-map-type'] === 'atomic' ? { atomic: true } : {}),
    fields: Object.fromEntries(fields),
    ...(isRecord(schema.additionalProperties) ? { anyField: convert(schema.additionalProperties) } : {}),
  };
}

function convertList(schema: Record<string, unknown>): MergeNode {
  const listType = schema['x-kubernetes-list-type'];
  if (listType === 'set') return { set: true };
  const keys = schema['x-kubernetes-list-map-keys'];
  if (listType !== 'map' || !Array.isArray(keys)) return ATOMIC;
  const items = recordOf(schema.items);
  const defaults = Object.entries(recordOf(items.properties))
    .filter(([name, child]) => keys.includes(name) && isRecord(child) && child.default !== undefined)
    .map(([name, child]) => [name, recordOf(child).default]);
  return { ...convert(items), keys: keys.map(String), keyDefaults: Object.fromEntries(defaults) };
}
