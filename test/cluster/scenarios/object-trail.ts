import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { type BedClient, waitFor } from '../bed/client.ts';

/** What was seen of one object, value by value, in the order of the writes. */
export interface ObjectTrail<T> {
  /** Each value once for as long as it stayed. */
  readonly values: readonly T[];
  /** The next value that holds, of all that were written from now on. */
  until(what: string, holds: (value: T) => boolean, timeoutMs?: number): Promise<T>;
  close(): void;
}

/** Where the API server lists objects of a kind. */
const folders = {
  Deployment: ['apps/v1', 'deployments'],
  HTTPRoute: ['gateway.networking.k8s.io/v1', 'httproutes'],
} as const;

/** Follows one object by a watch from what it is now; a value is what `look` makes of it. */
export function followObject<T extends string | number | undefined>(
  bed: BedClient,
  { kind, namespace, name }: { kind: keyof typeof folders; namespace: string; name: string },
  look: (object: KubernetesObject) => T,
): ObjectTrail<T> {
  const values: T[] = [];
  const stopped = new AbortController();
  const [version, plural] = folders[kind];
  const path = `/apis/${version}/namespaces/${namespace}/${plural}?fieldSelector=metadata.name%3D${name}`;
  const following = bed.api.follow(
    path,
    ({ object }) => {
      const value = look(object);
      if (values.length === 0 || values.at(-1) !== value) values.push(value);
    },
    stopped.signal,
  );
  void following.catch(() => undefined);
  return {
    values,
    until: (what, holds, timeoutMs = 120_000) => {
      let next = Math.max(0, values.length - 1);
      const look = async () => {
        for (; next < values.length; next += 1) {
          const value = values[next] as T;
          if (holds(value)) return { value };
        }
        next = Math.max(0, values.length - 1);
        return undefined;
      };
      const describe = async () => values;
      return waitFor(look, { timeoutMs, intervalMs: 50, what: `${namespace}: ${what}`, describe }).then(
        ({ value }) => value,
      );
    },
    close: () => stopped.abort(),
  };
}

/** The canary's share in percent, as an HTTPRoute of one rule says it. */
export function canaryShare(route: KubernetesObject): number {
  const { rules } = route.spec as {
    rules: Array<{ backendRefs: Array<{ name: string; weight?: number }> }>;
  };
  return rules[0]?.backendRefs.find(({ name }) => name.endsWith('-canary'))?.weight ?? 0;
}
