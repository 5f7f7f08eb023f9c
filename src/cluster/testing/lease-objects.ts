import type { KubernetesObject } from '../../api/kubernetes.ts';

/** The kinds that leader election looks at. */
export type Plural = 'leases' | 'pods';

const kinds = {
  leases: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
  pods: { apiVersion: 'v1', kind: 'Pod' },
} as const;

/** One change as a watch tells it. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly plural: Plural;
  readonly version: number;
  readonly object: KubernetesObject;
}

/** Leases and pods of one namespace, with their history. */
export interface LeaseObjects {
  version(): number;
  get(plural: Plural, name: string): KubernetesObject | undefined;
  list(plural: Plural, name: string | undefined): KubernetesObject[];
  put(plural: Plural, name: string, content: Record<string, unknown>): KubernetesObject;
  remove(plural: Plural, name: string): void;
  since(version: number): Change[];
}

/** Starts empty; `tell` hears of each change. */
export function createLeaseObjects(tell: (change: Change) => void): LeaseObjects {
  const objects = new Map<string, KubernetesObject>();
  const history: Change[] = [];
  let version = 0;

  function note(type: Change['type'], plural: Plural, object: KubernetesObject): KubernetesObject {
    const change = { type, plural, version, object };
    history.push(change);
    tell(change);
    return object;
  }

  return {
    version: () => version,
    get: (plural, name) => objects.get(`${plural}/${name}`),
    list: (plural, name) =>
      [...objects]
        .filter(([key]) => (name ? key === `${plural}/${name}` : key.startsWith(`${plural}/`)))
        .map(([, object]) => object),
    put(plural, name, { metadata, ...rest }) {
      version += 1;
      const key = `${plural}/${name}`;
      const own = { name, namespace: 'delivery', resourceVersion: String(version), uid: `uid-${name}` };
      const object = { ...kinds[plural], ...rest, metadata: { ...own, ...(metadata as object) } };
      const type = objects.has(key) ? 'MODIFIED' : 'ADDED';
      objects.set(key, object);
      return note(type, plural, object);
    },
    remove(plural, name) {
      const object = objects.get(`${plural}/${name}`);
      if (!object) return;
      version += 1;
      objects.delete(`${plural}/${name}`);
      const metadata = { ...object.metadata, resourceVersion: String(version) };
      note('DELETED', plural, { ...object, metadata });
    },
    since: (from) => history.filter((change) => change.version > from),
  };
}
