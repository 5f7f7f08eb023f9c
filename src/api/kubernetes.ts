/**
 * Kubernetes objects as plain JSON (the generated client classes would drop unknown fields): their shape, the labels and annotations by which
 * Holdfast finds its own, and reading them before they are validated.
 */
import { createHash } from 'node:crypto';

/** Metadata of any object; only the fields that Holdfast reads are typed. */
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

/** The condition of this type in a status. */
export function conditionOf<C extends { readonly type?: unknown }>(
  status: { readonly conditions?: readonly C[] | undefined } | undefined,
  type: string,
): C | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

/** The same of any object, whose status may hold anything. */
export function liveCondition(
  object: KubernetesObject | undefined,
  type: string,
): Partial<Condition> | undefined {
  return conditionOf({ conditions: recordsOf(recordOf(object?.status).conditions) }, type);
}

/** A pod template: the part of a workload that a Release is about. As JSON, unknown fields included. */
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

/** One container of a pod. */
export interface Container {
  name: string;
  image?: string;
  ports?: Array<{ name?: string; containerPort: number; protocol?: string }>;
  env?: Array<Record<string, unknown>>;
  envFrom?: Array<Record<string, unknown>>;
  [field: string]: unknown;
}

/** The fields that lead to the pod template of a workload of this kind. */
export function podTemplatePath(kind: string): readonly string[] {
  return kind === 'CronJob' ? ['spec', 'jobTemplate', 'spec', 'template'] : ['spec', 'template'];
}

/** What an object is called, in whatever version. */
interface Identity {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

function nameIn(object: Identity | KubernetesObject): Omit<Identity, 'kind'> {
  return 'metadata' in object ? (object as KubernetesObject).metadata : (object as Identity);
}

/** `Kind namespace/name`, the way messages name an object. */
export function describe(object: Identity | KubernetesObject): string {
  const { name, namespace } = nameIn(object);
  return namespace ? `${object.kind} ${namespace}/${name}` : `${object.kind} ${name}`;
}

/** The group of an API version; empty for the core group. */
export function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')));
}

/** The reference of an object. */
export function referenceOf(object: KubernetesObject): ObjectReference {
  const { apiVersion, kind, metadata } = object;
  const base = { apiVersion, kind, name: metadata.name };
  return metadata.namespace ? { ...base, namespace: metadata.namespace } : base;
}

/** Anything with a name. */
interface Named {
  readonly metadata: { readonly namespace?: string | undefined; readonly name: string };
}

/** The namespace and the name of an object whose kind is known. */
export function nameOf({ metadata: { namespace, name } }: Named): NamespacedName {
  return { namespace: namespace ?? '', name };
}

/** `namespace/name`, its key. */
export function namespacedName(object: Named): string {
  return keyOf(nameOf(object));
}

/** The same of a name. */
export function keyOf({ namespace, name }: NamespacedName): string {
  return `${namespace}/${name}`;
}

/** What the key was made of. */
export function nameOfKey(key: string): NamespacedName {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}

/** Two objects with the same key are the same object to the API server; its version does not matter. */
export function objectKey(object: (Identity & { readonly apiVersion: string }) | KubernetesObject): string {
  const { namespace, name } = nameIn(object);
  return [groupOf(object.apiVersion), object.kind, namespace ?? '', name].join('|');
}

/** Whether `spec.suspend` is set, which Sources and Canaries have as Jobs do. */
export function isSuspended({ spec }: KubernetesObject): boolean {
  return (spec as { suspend?: boolean } | undefined)?.suspend === true;
}

/** Preconditions of a write: the object as it was read, in this version. */
export function versionOf(object: KubernetesObject): { uid: string; resourceVersion: string } {
  return { uid: object.metadata.uid ?? '', resourceVersion: object.metadata.resourceVersion ?? '' };
}

/** Changes with each change of what the object asks for, and of a Service, which has no generation, with any change. */
export function contentVersionOf({ metadata }: KubernetesObject): number | string | undefined {
  return metadata.generation ?? metadata.resourceVersion;
}

/** The fields that have a value, as an API server would store them. */
export function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const stored: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(fields)) if (value !== undefined) stored[field] = value;
  return stored as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** Bytes of a Secret's `data` after base64 decoding, by key. */
export type SecretValues = Readonly<Record<string, Uint8Array>>;

/** The values of a Secret. */
export function secretBytes({ data }: KubernetesObject): Readonly<Record<string, Buffer>> {
  const entries = Object.entries((data ?? {}) as Record<string, string>);
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, 'base64')]));
}

// Labels, annotations and owner references of what Holdfast generates for a Canary.

/** Label of everything generated: name of the Canary, shortened to a label's length (`labelValue`). For watches. */
export const canaryLabel = 'holdfast.dev/canary';

/**
 * On an object that another tool created: the parts that a rollout writes. `80/TCP,9090/TCP` for the ports of a Service (whose selector is
 * always one of the parts), `spec` for a route. A Source that applies the object leaves these parts out.
 */
export const takenOverAnnotation = 'holdfast.dev/taken-over';

/** On such a route: its original spec as JSON, which is restored when the route is handed back (Flagger's name, flagger-behaviour.md 3.1). */
export const originalAnnotation = 'flagger.kubernetes.io/original-configuration';

/** Annotations of an object that was taken over, as in Flagger: Flux would revert it (flagger-behaviour.md 2.9 and 6.1, 14). */
export const keepFluxAway: Readonly<Record<string, string>> = {
  'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
  'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
};

/** Annotations that keep Flux and Argo CD from correcting or pruning generated objects (flagger-behaviour.md 2.9). */
export const keepAwayAnnotations: Readonly<Record<string, string>> = {
  'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
  'argocd.argoproj.io/sync-options': 'Prune=false',
  ...keepFluxAway,
};

/**
 * Whether the object was generated for this Canary or an earlier one of the same name, whose owner reference is still there or was removed.
 * An object that a Source applies is not generated.
 */
export function isGenerated({ metadata }: KubernetesObject, canary: KubernetesObject): boolean {
  const { ownerReferences = [], labels = {}, annotations = {} } = metadata;
  if (labels[partOfLabel] !== undefined) return false;
  const isOwned = ownerReferences.some(
    ({ uid, kind, name }) =>
      uid === canary.metadata.uid || (kind === canary.kind && name === canary.metadata.name),
  );
  const isDisowned = ownerReferences.length === 0 && hasOwnLabels({ metadata }, canary);
  return isOwned || (isDisowned && annotations[takenOverAnnotation] === undefined);
}

/** The owner reference of an object that is generated for the Canary. */
export function ownerReference(canary: KubernetesObject): OwnerReference {
  return {
    apiVersion: canary.apiVersion,
    kind: canary.kind,
    name: canary.metadata.name,
    uid: canary.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** Whether the Canary is an owner of the object. */
export function isOwnedBy({ metadata }: KubernetesObject, canary: KubernetesObject): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === canary.metadata.uid) === true;
}

/** What controls the object: at most one of its owners does. */
export function controllerOf(
  object: Pick<KubernetesObject, 'metadata'> | undefined,
): OwnerReference | undefined {
  return object?.metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** Labels by which the watch caches find what belongs to a Canary. */
export function ownLabels(canary: { metadata: { name: string } }): Record<string, string> {
  return { [canaryLabel]: labelValue(canary.metadata.name) };
}

/** Whether the object has the labels of what belongs to this Canary. */
export function hasOwnLabels(
  { metadata }: Pick<KubernetesObject, 'metadata'>,
  canary: { metadata: { name: string } },
): boolean {
  return metadata.labels?.[canaryLabel] === ownLabels(canary)[canaryLabel];
}

// Labels and annotations of ApplySets (KEP-3659): Holdfast's parents are Sources.

/** Label of a member; its value is the id of the parent. */
export const partOfLabel = 'applyset.kubernetes.io/part-of';
/** Label of a parent; its value is its own id. */
export const applySetIdLabel = 'applyset.kubernetes.io/id';
/** Label of a CRD whose objects may be parents. */
export const parentTypeLabel = 'applyset.kubernetes.io/is-parent-type';
/** On a parent: the tool that manages the set. */
export const toolingAnnotation = 'applyset.kubernetes.io/tooling';
/** On a parent: kinds of its members, as `Deployment.apps`, sorted, with commas between. */
export const groupKindsAnnotation = 'applyset.kubernetes.io/contains-group-kinds';
/** On a parent: namespaces of its members other than its own, sorted, with commas between. */
export const namespacesAnnotation = 'applyset.kubernetes.io/additional-namespaces';

/** Holdfast's value of `toolingAnnotation`; `v1` is the version of how the set is stored. */
export const tooling = 'holdfast/v1';

/** The ServiceAccount that a Source without `serviceAccountName` is written as, in its own namespace. It need not exist. */
export const sourceAccount = 'holdfast-source';
/** The Secret in Holdfast's namespace with the key that hashes Secrets. */
export const clusterKeySecret = 'holdfast-key';

/** For messages: installs the CRDs of this version, also over those of Flagger or of a chart, whose fields another manager owns. */
export const applyCrds = 'holdfast install --crds-only | kubectl apply --server-side --force-conflicts -f -';

/** For messages: a command of ours on a Canary or a Source. */
export function commandOn(
  command: string,
  { namespace, name }: NamespacedName,
  kind: 'canary' | 'source' = 'canary',
): string {
  return `holdfast ${command} -n ${namespace || 'default'} ${kind}/${name}`;
}

/** The name of an object of most kinds. */
export const objectName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
/** The name of a namespace, or another DNS label. */
export const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

// Names that fit where Kubernetes allows fewer characters.

const mostLabelCharacters = 63;

/**
 * A label value for a name: the name itself up to 63 characters, else its start and a hash of the whole. A name of an object is a DNS
 * subdomain, so every shortened form is a valid label value, too.
 */
export function labelValue(name: string): string {
  return shortName(name, mostLabelCharacters);
}

/** A DNS name of at most `maxLength` characters, equal for equal names and different for different ones. */
export function shortName(name: string, maxLength: number): string {
  if (name.length <= maxLength) return name;
  const hash = shortHash(name);
  return `${name.slice(0, maxLength - hash.length - 1).replace(/[-.]+$/, '')}-${hash}`;
}

/** A hash of the text in so many hex digits. */
export function shortHash(text: string, digits = 10): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}

// Reading of JSON that is not validated: manifests may have any value anywhere.

/** Whether the value is a JSON object: not null, not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is a JSON object, else an empty one. */
export function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/** The value if it is an array, else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The JSON objects in the value if it is an array, else none. */
export function recordsOf(value: unknown): Array<Record<string, unknown>> {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The value if it is a string that is not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The value if it is a finite number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/**
 * JSON with sorted keys (by UTF-16 code unit) and no white space: equal values have equal text. Undefined fields are left out, `-0` is `0`.
 * Throws TypeError for values that are not JSON (functions, bigint, NaN, infinity).
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isRecord(value)) {
    const fields = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
    return `{${fields.join(',')}}`;
  }
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError('not a JSON number');
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`a ${typeof value} is not JSON`);
  return text;
}

/** A short hash of `fieldsV1` of one entry of managedFields; API servers write equal sets in one order. */
export function hashOfFields(fieldsV1: unknown): string {
  return createHash('sha256').update(jsonOf(fieldsV1)).digest('base64').slice(0, 16);
}

/** API servers take a deeper nesting than the JavaScript engine writes: all such sets count as one, since anybody may store an object that has one. */
function jsonOf(fieldsV1: unknown): string {
  try {
    return JSON.stringify(fieldsV1 ?? null);
  } catch {
    return '';
  }
}

/** The steps of a JSON pointer (RFC 6901); undefined: it is not valid. The pointer to the whole document has no steps. */
export function pointerSteps(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value that these fields lead to; undefined: they lead nowhere. */
export function valueAt(value: unknown, fields: readonly string[]): unknown {
  return fields.reduce((inner, field) => recordOf(inner)[field], value);
}

/** A copy without the value that the steps lead to; the same value if they lead nowhere. */
export function withoutPath(value: unknown, steps: readonly string[]): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  if (Array.isArray(value)) {
    const index = /^(0|[1-9][0-9]*)$/.test(step) ? Number(step) : value.length;
    if (index >= value.length) return value;
    return rest.length === 0 ? value.toSpliced(index, 1) : value.with(index, withoutPath(value[index], rest));
  }
  if (!isRecord(value) || !Object.hasOwn(value, step)) return value;
  const kept = Object.entries(value).filter(([key]) => rest.length > 0 || key !== step);
  return fromEntries(kept.map(([key, field]) => [key, key === step ? withoutPath(field, rest) : field]));
}

/** An object of these fields; `__proto__` becomes a field like any other. */
export function fromEntries(entries: ReadonlyArray<readonly [string, unknown]>): Record<string, unknown> {
  return Object.fromEntries(entries);
}

/** Whether an object's labels match a selector. */
export type LabelMatcher = (labels: Readonly<Record<string, string>> | undefined) => boolean;

const setBased = /^([^\s!=,()]+)\s+(in|notin)\s+\(([^()]*)\)$/;
const equality = /^([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)$/;
const existence = /^(!?)\s*([^\s!=,()]+)$/;

/** Reads a label selector as kubectl writes it (`a=b,c!=d,e in (f,g),!h`). Throws for anything else. */
export function parseLabelSelector(selector: string | undefined): LabelMatcher {
  // At commas outside of parentheses, in one pass.
  const parts = (selector ?? '').match(/(?:[^,(]|\([^)]*\)?)+/g) ?? [];
  const requirements = parts
    .map((part) => part.trim())
    .filter(Boolean)
    .map(parseRequirement);
  return (labels) => requirements.every((fits) => fits(labels ?? {}));
}

function parseRequirement(text: string): (labels: Readonly<Record<string, string>>) => boolean {
  const set = setBased.exec(text);
  if (set) {
    const [, key = '', operator, list = ''] = set;
    const values = new Set(list.split(',').map((value) => value.trim()));
    return operator === 'in'
      ? (labels) => Object.hasOwn(labels, key) && values.has(labels[key] ?? '')
      : (labels) => !values.has(labels[key] ?? '') || !Object.hasOwn(labels, key);
  }
  const equal = equality.exec(text);
  if (equal) {
    const [, key = '', operator, value] = equal;
    return operator === '!=' ? (labels) => labels[key] !== value : (labels) => labels[key] === value;
  }
  const exists = existence.exec(text);
  if (!exists) throw new Error(`label selector "${text.slice(0, 100)}" cannot be parsed`);
  const [, negated, key = ''] = exists;
  return negated ? (labels) => !Object.hasOwn(labels, key) : (labels) => Object.hasOwn(labels, key);
}
