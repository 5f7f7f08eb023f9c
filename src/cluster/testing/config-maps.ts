import type { KubernetesObject } from '../../api/kubernetes.ts';

/** One change as a watch tells it. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubernetesObject;
  readonly version: number;
}

/** The server's side of the story: ConfigMaps in one namespace, with their history. */
export interface ConfigMaps {
  version(): number;
  all(): KubernetesObject[];
  put(name: string, value: string): Change;
  remove(name: string): Change | undefined;
  /** Changes after a version; undefined when they are forgotten. */
  since(version: number): Change[] | undefined;
  /** Forgets all history. */
  compact(): void;
}

/** Starts empty, at version 10. */
export function createConfigMaps(): ConfigMaps {
  const objects = new Map<string, KubernetesObject>();
  let history: Change[] = [];
  let oldest = 0;
  let version = 10;

  function record(type: Change['type'], object: KubernetesObject): Change {
    const change = { type, object, version };
    history.push(change);
    return change;
  }

  return {
    version: () => version,
    all: () => [...objects.values()],
    put(name, value) {
      version += 1;
      const known = objects.get(name);
      const uid = known?.metadata.uid ?? `uid-${name}-${version}`;
      const metadata = {
        namespace: 'shop',
        name,
        uid,
        resourceVersion: String(version),
        managedFields: [{}],
      };
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value } };
      objects.set(name, object);
      return record(known ? 'MODIFIED' : 'ADDED', object);
    },
    remove(name) {
      const object = objects.get(name);
      if (!object) return undefined;
      version += 1;
      objects.delete(name);
      return record('DELETED', {
        ...object,
        metadata: { ...object.metadata, resourceVersion: String(version) },
      });
    },
    since: (from) => (from < oldest ? undefined : history.filter((change) => change.version > from)),
    compact() {
      history = [];
      version += 1;
      oldest = version;
    },
  };
}
