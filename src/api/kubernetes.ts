/** Shapes every folder shares: plain Kubernetes objects as JSON, never the generated client classes (they drop unknown fields). */

/** Metadata of any object; only what Holdfast reads is typed, the rest is kept as it came. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  [field: string]: unknown;
}

/** One owner of an object, as Kubernetes' garbage collector reads it. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** Any Kubernetes object as JSON. Fields beyond metadata are the kind's own. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** An object of a known kind by its namespace and name. */
export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** Which object, without its content. `namespace` is absent for cluster-scoped kinds. */
export interface ObjectReference {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
}

/** A condition as Kubernetes' API conventions define it; times are RFC 3339. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
  observedGeneration?: number;
}

/** A pod template: the part of a workload that a Release is about. Kept as JSON, unknown fields included. */
export interface PodTemplate {
  metadata?: {
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    [field: string]: unknown;
  };
  spec: PodSpec;
}

/** The part of a pod's spec that Holdfast reads or rewrites. */
export interface PodSpec {
  containers: Container[];
  initContainers?: Container[];
  volumes?: Array<Record<string, unknown>>;
  [field: string]: unknown;
}

/** One container of a pod, unknown fields kept. */
export interface Container {
  name: string;
  image?: string;
  ports?: Array<{ name?: string; containerPort: number; protocol?: string }>;
  env?: Array<Record<string, unknown>>;
  envFrom?: Array<Record<string, unknown>>;
  [field: string]: unknown;
}

/** `Kind namespace/name`, the way messages name an object. */
export function describe(object: ObjectReference | KubernetesObject): string {
  const { name, namespace } =
    'metadata' in object ? (object as KubernetesObject).metadata : (object as ObjectReference);
  return namespace ? `${object.kind} ${namespace}/${name}` : `${object.kind} ${name}`;
}

/** The reference of an object. */
export function referenceOf(object: KubernetesObject): ObjectReference {
  const { apiVersion, kind, metadata } = object;
  const base = { apiVersion, kind, name: metadata.name };
  return metadata.namespace ? { ...base, namespace: metadata.namespace } : base;
}

/** `namespace/name`, the key of an object whose kind is known. */
export function namespacedName(object: { metadata: { namespace?: string; name: string } }): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

/** The `namespacedName` of a Canary that is known by name alone. */
export function canaryKey(canary: NamespacedName): string {
  return `${canary.namespace}/${canary.name}`;
}

/** Two objects with the same key are the same object to the API server; its version does not matter. */
export function objectKey(object: KubernetesObject): string {
  const group = object.apiVersion.includes('/') ? object.apiVersion.split('/', 1)[0] : '';
  return [group, object.kind, object.metadata.namespace ?? '', object.metadata.name].join('|');
}

/** Whether `spec.suspend` is set, which Sources and Canaries have as Jobs do. */
export function isSuspended({ spec }: KubernetesObject): boolean {
  return (spec as { suspend?: boolean } | undefined)?.suspend === true;
}

/** Preconditions of a write: the object as it was read, in this version. */
export function versionOf(object: KubernetesObject): { uid: string; resourceVersion: string } {
  return { uid: object.metadata.uid ?? '', resourceVersion: object.metadata.resourceVersion ?? '' };
}

/** The fields that have a value: what a server keeps of an object. */
export function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** Bytes of a Secret's `data` after base64 decoding, by key. */
export type SecretValues = Readonly<Record<string, Uint8Array>>;
