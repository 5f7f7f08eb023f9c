import type { KubernetesObject } from '../api/kubernetes.ts';
import { labelRecord } from '../release/names.ts';
import type { RouteKind, Routing, WatchedSet, Watches, WatchQuery } from './ports.ts';

/** What is watched in one namespace with Canaries, so that observing costs no request. */
export interface NamespaceView {
  readonly namespace: string;
  /** What is still missing or unreadable, for people; undefined when everything was listed. */
  problem(kinds: readonly RouteKind[]): { readonly waiting: boolean; readonly message: string } | undefined;
  get(kind: RouteKind, name: string): KubernetesObject | undefined;
  list(kind: RouteKind): readonly KubernetesObject[];
  /** Metadata of the records' Secrets of all Canaries here. */
  records(): readonly KubernetesObject[];
  /** The Secrets with the rejections, content included. */
  rejections(): readonly KubernetesObject[];
  /** Takes a fresh read in, so that the next look sees it. */
  remember(object: KubernetesObject): void;
}

/** Kinds every Canary needs, whatever its provider. */
export const deploymentKind: RouteKind = { apiVersion: 'apps/v1', kind: 'Deployment' };
export const podKind: RouteKind = { apiVersion: 'v1', kind: 'Pod' };
export const serviceKind: RouteKind = { apiVersion: 'v1', kind: 'Service' };
const secretKind: RouteKind = { apiVersion: 'v1', kind: 'Secret' };
const baseKinds: readonly RouteKind[] = [deploymentKind, podKind, serviceKind];

/** The watches of one namespace for Canaries of these providers. Secrets are read by label, their content only where it is ours. */
export function namespaceQueries(
  namespace: string,
  providers: Iterable<string>,
  routing: Routing,
): WatchQuery[] {
  const routeKinds = [...providers].flatMap((provider) => routing(provider)?.kinds ?? []);
  const kinds = new Map(
    [...baseKinds, ...routeKinds].map((kind) => [`${kind.apiVersion} ${kind.kind}`, kind]),
  );
  return [
    ...[...kinds.values()].map(({ apiVersion, kind }) => ({ apiVersion, kind, namespace })),
    recordsQuery(namespace),
    rejectionsQuery(namespace),
  ];
}

function recordsQuery(namespace: string): WatchQuery {
  return { ...secretKind, namespace, labelSelector: `${labelRecord}=release`, metadataOnly: true };
}

function rejectionsQuery(namespace: string): WatchQuery {
  return { ...secretKind, namespace, labelSelector: `${labelRecord}=rejections` };
}

/** Looks at a namespace through its watches. */
export function viewNamespace(namespace: string, watches: Watches): NamespaceView {
  const set = ({ apiVersion, kind }: RouteKind): WatchedSet => watches.open({ apiVersion, kind, namespace });
  return {
    namespace,
    problem(kinds) {
      const sets = [...baseKinds, ...kinds].map((kind) => ({ name: kind.kind, set: set(kind) }));
      sets.push({ name: 'Secret', set: watches.open(recordsQuery(namespace)) });
      sets.push({ name: 'Secret', set: watches.open(rejectionsQuery(namespace)) });
      const unsynced = sets.filter((entry) => !entry.set.synced());
      if (unsynced.length === 0) return undefined;
      const failing = unsynced.find((entry) => entry.set.problem() !== undefined);
      if (!failing) return { waiting: true, message: 'the watches of its namespace are being started' };
      const message = `cannot watch ${failing.name} in namespace ${namespace}: ${failing.set.problem() ?? ''}`;
      return { waiting: false, message };
    },
    get: (kind, name) => set(kind).get(namespace, name),
    list: (kind) => set(kind).list(namespace),
    records: () => watches.open(recordsQuery(namespace)).list(namespace),
    rejections: () => watches.open(rejectionsQuery(namespace)).list(namespace),
    remember: (object) => set({ apiVersion: object.apiVersion, kind: object.kind }).remember(object),
  };
}
