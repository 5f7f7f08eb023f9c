import type { KubernetesObject } from '../api/kubernetes.ts';

/** Finds objects by values computed from them; keys are the store's own. */
export interface StoreIndex {
  update(objectKey: string, object: KubernetesObject): void;
  remove(objectKey: string): void;
  keys(value: string): string[];
}

/** Creates an empty index. */
export function createIndex(keysOf: (object: KubernetesObject) => readonly string[]): StoreIndex {
  const objectsByValue = new Map<string, Set<string>>();
  const valuesByObject = new Map<string, readonly string[]>();

  function remove(objectKey: string): void {
    for (const value of valuesByObject.get(objectKey) ?? []) {
      const members = objectsByValue.get(value);
      members?.delete(objectKey);
      if (members?.size === 0) objectsByValue.delete(value);
    }
    valuesByObject.delete(objectKey);
  }

  return {
    remove,
    keys: (value) => [...(objectsByValue.get(value) ?? [])],
    update(objectKey, object) {
      remove(objectKey);
      const values = keysOf(object);
      valuesByObject.set(objectKey, values);
      for (const value of values) {
        const members = objectsByValue.get(value) ?? new Set();
        members.add(objectKey);
        objectsByValue.set(value, members);
      }
    },
  };
}
