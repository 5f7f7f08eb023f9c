import { createHash } from 'node:crypto';
import { type KubernetesObject, nameOfKey, namespacedName, partOfLabel } from '../api/kubernetes.ts';

/** Identity of a Source as the parent of its objects: `applyset-<hash>-v1`. */
export function applySetId(source: Pick<KubernetesObject, 'metadata'>): string {
  return applySetIdOf(namespacedName(source));
}

/** The same by the Source's key, `namespace/name`. */
export function applySetIdOf(sourceKey: string): string {
  const { namespace, name } = nameOfKey(sourceKey);
  const parent = `${name}.${namespace}.Source.holdfast.dev`;
  return `applyset-${createHash('sha256').update(parent).digest('base64url')}-v1`;
}

/** The object with the label of the set that it belongs to. */
export function asMember(object: KubernetesObject, id: string): KubernetesObject {
  const { metadata, ...rest } = object;
  return { ...rest, metadata: { ...metadata, labels: { ...metadata.labels, [partOfLabel]: id } } };
}

/** The objects of each Source at its head, so that none prunes what has moved to another one. */
export interface Claims {
  /** Replaces what a Source (`namespace/name`) holds: `objectKey` of its objects. */
  publish(sourceKey: string, objectKeys: ReadonlySet<string>): void;
  forget(sourceKey: string): void;
  /** The head that a followed Source has read last; undefined: it has yet to look, or cannot read what it saw. */
  hasRead(sourceKey: string, head: string | undefined): void;
  /** It is not followed any more, and nobody waits for it. */
  ended(sourceKey: string): void;
  /** Whether a followed Source has yet to read this head, so that it may hold more by then. */
  isBehind(sourceKey: string, head: string | undefined): boolean;
  /** Whether it is followed, and what it holds is not known since the start. */
  isUnknown(sourceKey: string): boolean;
  /** The other Sources that hold the object. */
  holdersOf(objectKey: string, except: string): string[];
  /** The Source whose set has this id, where it is one that is followed. */
  sourceOf(setId: string): string | undefined;
}

/** Nothing is held yet. */
export function createClaims(): Claims {
  const held = new Map<string, ReadonlySet<string>>();
  const heads = new Map<string, string | undefined>();
  return {
    publish: (sourceKey, objectKeys) => void held.set(sourceKey, objectKeys),
    forget: (sourceKey) => void held.delete(sourceKey),
    hasRead: (sourceKey, head) => void heads.set(sourceKey, head),
    ended: (sourceKey) => void heads.delete(sourceKey),
    isBehind: (sourceKey, head) => heads.has(sourceKey) && heads.get(sourceKey) !== head,
    isUnknown: (sourceKey) => heads.has(sourceKey) && !held.has(sourceKey),
    holdersOf: (objectKey, except) =>
      [...held].flatMap(([sourceKey, keys]) =>
        sourceKey !== except && keys.has(objectKey) ? [sourceKey] : [],
      ),
    sourceOf: (setId) => [...held.keys()].find((sourceKey) => applySetIdOf(sourceKey) === setId),
  };
}
