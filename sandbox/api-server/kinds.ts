import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { JsonRecord } from './json.ts';
import type { MergeNode } from './merge-schema.ts';

/** The fields of a kind that its scale subresource shows; dotted JSON paths without the leading dot. */
export interface ScalePaths {
  readonly replicas: readonly string[];
  readonly statusReplicas: readonly string[];
  readonly selector?: readonly string[];
}

/** One served kind in one version. */
export interface KindInfo {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
  /** Versions of one kind share this key, and so their objects. */
  readonly storageKey: string;
  /** The status subresource exists, and the main resource ignores `status`. */
  readonly hasStatus: boolean;
  /** `metadata.generation` counts changes of the spec. */
  readonly hasGeneration: boolean;
  readonly scale?: ScalePaths;
  readonly merge: MergeNode;
  /** OpenAPI schema of a custom resource; built-in kinds have none. */
  readonly schema?: JsonRecord;
}

/** The kinds an API serves; custom resources come and go. */
export interface KindRegistry {
  all(): readonly KindInfo[];
  /** By the plural name that appears in paths. */
  byPath(group: string, version: string, plural: string): KindInfo | undefined;
  /** By what an object says about itself. */
  byType(apiVersion: string, kind: string): KindInfo | undefined;
  add(kind: KindInfo): void;
  remove(group: string, plural: string): void;
}

/** `v1` or `apps/v1`. */
export function apiVersionOf(kind: Pick<KindInfo, 'group' | 'version'>): string {
  return kind.group ? `${kind.group}/${kind.version}` : kind.version;
}

/** A registry that starts with the given kinds. */
export function createKindRegistry(initial: readonly KindInfo[]): KindRegistry {
  let kinds = [...initial];
  const registry: KindRegistry = {
    all: () => kinds,
    byPath: (group, version, plural) => {
      return kinds.find((kind) => kind.plural === plural && kind.group === group && kind.version === version);
    },
    byType: (apiVersion, name) =>
      kinds.find((kind) => kind.kind === name && apiVersionOf(kind) === apiVersion),
    add(kind) {
      const same = (other: KindInfo) =>
        other.storageKey === kind.storageKey && other.version === kind.version;
      kinds = [...kinds.filter((other) => !same(other)), kind];
    },
    remove(group, plural) {
      kinds = kinds.filter((kind) => kind.group !== group || kind.plural !== plural);
    },
  };
  return registry;
}

/** Fields of a core/v1 Event and their names in events.k8s.io/v1, the form in which events are stored. */
const RENAMED: ReadonlyArray<readonly [core: string, stored: string]> = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['count', 'deprecatedCount'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['reportingComponent', 'reportingController'],
];
const TO_STORED = new Map(RENAMED);
const TO_CORE = new Map(RENAMED.map(([core, stored]) => [stored, core] as const));

function isCoreEvent(kind: KindInfo): boolean {
  return kind.group === '' && kind.kind === 'Event';
}

function rename(object: KubernetesObject, names: ReadonlyMap<string, string>): KubernetesObject {
  const entries = Object.entries(object).map(([field, value]) => [names.get(field) ?? field, value]);
  return Object.fromEntries(entries) as KubernetesObject;
}

/** The object as its kind is stored: both versions of Event are one object. Other kinds come back as they are. */
export function toStored(kind: KindInfo, object: KubernetesObject): KubernetesObject {
  return isCoreEvent(kind) ? { ...rename(object, TO_STORED), apiVersion: 'events.k8s.io/v1' } : object;
}

/** The stored object as this kind shows it. */
export function toServed(kind: KindInfo, object: KubernetesObject): KubernetesObject {
  return isCoreEvent(kind) ? { ...rename(object, TO_CORE), apiVersion: 'v1' } : object;
}
