import { applySetIdOf } from './apply-set.ts';

/** What each Source that is followed holds at its head: so that none deletes what has only moved to another one. */
export interface Claims {
  /** Replaces what a Source (`namespace/name`) holds: `objectKey` of its objects. */
  publish(sourceKey: string, objectKeys: ReadonlySet<string>): void;
  forget(sourceKey: string): void;
  /** Another Source that holds the object. */
  holderOf(objectKey: string, except: string): string | undefined;
  /** The Source whose set has this id, where it is one that is followed. */
  sourceOf(setId: string): string | undefined;
}

/** Nothing is held yet. */
export function createClaims(): Claims {
  const held = new Map<string, ReadonlySet<string>>();
  return {
    publish: (sourceKey, objectKeys) => void held.set(sourceKey, objectKeys),
    forget: (sourceKey) => void held.delete(sourceKey),
    holderOf(objectKey, except) {
      for (const [sourceKey, keys] of held) if (sourceKey !== except && keys.has(objectKey)) return sourceKey;
      return undefined;
    },
    sourceOf: (setId) => [...held.keys()].find((sourceKey) => applySetIdOf(sourceKey) === setId),
  };
}
