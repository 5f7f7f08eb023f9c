/** Which kinds and namespaces the members of a Source may be in: kept on the Source itself, so that nothing is forgotten by a restart. */
import {
  applySetIdLabel,
  groupKindsAnnotation,
  groupOf,
  type KubernetesObject,
  namespacesAnnotation,
  tooling,
  toolingAnnotation,
} from '../../../api/kubernetes.ts';
import { applySetId } from '../../apply-set.ts';

/** Where members are looked for; it may say too much, never too little. */
export interface Inventory {
  /** `Deployment.apps`, or `ConfigMap` for the core group. */
  readonly groupKinds: ReadonlySet<string>;
  /** Beside the Source's own. */
  readonly namespaces: ReadonlySet<string>;
}

/** A Source as the parent of its set. */
type Parent = Pick<KubernetesObject, 'metadata'>;

/** What the Source's annotations say. */
export function inventoryOf({ metadata }: Parent): Inventory {
  const { annotations = {} } = metadata;
  return {
    groupKinds: listIn(annotations[groupKindsAnnotation]),
    namespaces: listIn(annotations[namespacesAnnotation]),
  };
}

/** Whether members of the Source may be where this object is. */
export function mayHold(source: Parent, object: KubernetesObject): boolean {
  const { groupKinds, namespaces } = inventoryOf(source);
  const { namespace = source.metadata.namespace } = object.metadata;
  const isLookedAt = namespace === source.metadata.namespace || namespaces.has(namespace ?? '');
  return isLookedAt && groupKinds.has(groupKindOf(object));
}

/** Where these objects are. */
export function inventoryFor({ metadata }: Parent, objects: readonly KubernetesObject[]): Inventory {
  const namespaces = objects.flatMap((object) => object.metadata.namespace ?? []);
  return {
    groupKinds: new Set(objects.map(groupKindOf)),
    namespaces: new Set(namespaces.filter((namespace) => namespace !== metadata.namespace)),
  };
}

/** Everything that one of the two says. */
export function joined(left: Inventory, right: Inventory): Inventory {
  return {
    groupKinds: new Set([...left.groupKinds, ...right.groupKinds]),
    namespaces: new Set([...left.namespaces, ...right.namespaces]),
  };
}

/** Merge patch of a Source's metadata that makes it the parent of this inventory; undefined when it says so already. */
export function parentPatch(source: KubernetesObject, inventory: Inventory): ParentPatch | undefined {
  const { labels = {}, annotations = {} } = source.metadata;
  const id = applySetId(source);
  const wanted = {
    [toolingAnnotation]: tooling,
    [groupKindsAnnotation]: textOf(inventory.groupKinds),
    [namespacesAnnotation]: textOf(inventory.namespaces),
  };
  const isThere = Object.entries(wanted).every(([key, value]) => annotations[key] === value);
  if (isThere && labels[applySetIdLabel] === id) return undefined;
  return { labels: { [applySetIdLabel]: id }, annotations: wanted };
}

/** What of a Source's metadata makes it a parent. */
interface ParentPatch {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** `Deployment.apps`, or `ConfigMap` for the core group. */
export function groupKindOf({ apiVersion, kind }: Pick<KubernetesObject, 'apiVersion' | 'kind'>): string {
  const group = groupOf(apiVersion);
  return group ? `${kind}.${group}` : kind;
}

/** `Deployment.apps` as kind and group. */
export function splitGroupKind(groupKind: string): { readonly kind: string; readonly group: string } {
  const dot = groupKind.indexOf('.');
  if (dot < 0) return { kind: groupKind, group: '' };
  return { kind: groupKind.slice(0, dot), group: groupKind.slice(dot + 1) };
}

function listIn(text: string | undefined): Set<string> {
  return new Set((text ?? '').split(',').filter((entry) => entry !== ''));
}

function textOf(entries: ReadonlySet<string>): string {
  return [...entries].sort().join(',');
}
