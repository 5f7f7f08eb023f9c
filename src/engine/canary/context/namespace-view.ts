import { type Clock, sleep } from '../../../api/clock.ts';
import { canaryLabel, controllerOf, type KubernetesObject } from '../../../api/kubernetes.ts';
import type { KeysOf, OpenWatch, WatchedSet, WatchQuery } from '../../../contracts/cluster.ts';
import type { RouteKind } from '../../../contracts/routing.ts';
import { labelRecord } from '../../../release/record.ts';
import { endpointSliceKind, serviceNameLabel } from '../../../workload/pods/endpoints.ts';
import { revisionKind, type ViewSource } from '../../../workload/shared/workload-kind.ts';

/** What is watched in one namespace with Canaries, so that observing costs no request. */
export interface NamespaceView {
  readonly namespace: string;
  /**
   * What is still missing or unreadable of these kinds and those every Canary needs, for people; undefined when all of it was listed. A
   * kind that only another Canary asks for, and that the server does not have, stops no other; nor does what `unread` names.
   */
  problem(kinds: readonly RouteKind[]): { readonly waiting: boolean; readonly message: string } | undefined;
  /** Why this cannot be listed, for people; undefined when it was, or is being. Traffic is kept safe without it. */
  unread(what: Unneeded): string | undefined;
  get(kind: RouteKind, name: string): KubernetesObject | undefined;
  /** Of ReplicaSets metadata alone. */
  list(kind: RouteKind): readonly KubernetesObject[];
  /** As `byKey` of a watched set. */
  byKey(kind: RouteKind, keysOf: KeysOf, key: string): readonly KubernetesObject[];
  /** Metadata of the records' Secrets of all Canaries here. */
  records(): readonly KubernetesObject[];
  /** The Secrets with the rejections, content included. */
  rejections(): readonly KubernetesObject[];
  /** Metadata of a primary's copy of a ConfigMap or Secret. */
  configCopy(kind: 'ConfigMap' | 'Secret', name: string): KubernetesObject | undefined;
  /** Metadata of all copies for the primaries of the namespace. */
  configCopies(): readonly KubernetesObject[];
  /**
   * Names the version of a ConfigMap or Secret, empty when there is none; undefined while that is not known. Watched, by metadata alone,
   * from the first question on.
   */
  configVersion(kind: 'ConfigMap' | 'Secret', name: string): string | undefined;
  /** Its metadata, as far as it is known and watched. */
  configOriginal(kind: 'ConfigMap' | 'Secret', name: string): KubernetesObject | undefined;
  /**
   * Reads everything anew by which the health and the traffic of both sides of a Canary with these kinds are judged, unless that was done less
   * than `withinMs` ago; resolves with whether it was. Waits for as long as the API server cannot be read. A kind that only another Canary asks
   * for is not waited for: the server may not have it.
   */
  refresh(withinMs: number, kinds: readonly RouteKind[]): Promise<boolean>;
  /** Stores a fresh read, so that the next one sees it. */
  remember(object: KubernetesObject): void;
}

/** What observing a Canary can do without: records, rejections, and config. */
type Unneeded = 'records' | 'rejections' | 'copies' | 'configs';

/** A NamespaceView whose watches can be changed and ended. */
export interface NamespaceWatch extends NamespaceView {
  /** Watches these kinds besides those every Canary needs, and no others. */
  setKinds(kinds: Iterable<RouteKind>): void;
  close(): void;
}

/** Pods of both workloads. */
export const podKind: RouteKind = { apiVersion: 'v1', kind: 'Pod' };
/** The generated Services. */
export const serviceKind: RouteKind = { apiVersion: 'v1', kind: 'Service' };
/** They tell which pods run a DaemonSet's current template; watched only where a Canary has one. */
export const controllerRevisionKind: RouteKind = { apiVersion: 'apps/v1', kind: 'ControllerRevision' };
const baseKinds: readonly RouteKind[] = [podKind, serviceKind];
/** Kinds of which only a part is watched. */
const narrowed: ReadonlyMap<string, Pick<WatchQuery, 'labelSelector' | 'endpointsOnly'>> = new Map([
  [kindId(endpointSliceKind), { labelSelector: serviceNameLabel, endpointsOnly: true }],
]);
const secretKind: RouteKind = { apiVersion: 'v1', kind: 'Secret' };
const configMapKind: RouteKind = { apiVersion: 'v1', kind: 'ConfigMap' };
/** They tell which pods run a Deployment's current template. */
export const replicaSetKind: RouteKind = { apiVersion: 'apps/v1', kind: 'ReplicaSet' };

/** What is watched for every Canary, whatever kinds it needs. */
function watchAlways(namespace: string, open: OpenWatch) {
  const secrets = { ...secretKind, namespace };
  return {
    replicaSets: open({ ...replicaSetKind, namespace, metadataOnly: true }),
    records: open({ ...secrets, labelSelector: `${labelRecord}=release`, metadataOnly: true }),
    rejections: open({ ...secrets, labelSelector: `${labelRecord}=rejections` }),
    copies: {
      ConfigMap: open({ ...configMapKind, namespace, labelSelector: canaryLabel, metadataOnly: true }),
      Secret: open({ ...secrets, labelSelector: `${canaryLabel},!${labelRecord}`, metadataOnly: true }),
    },
  };
}

/** Opens the watches of one namespace. `onChange` gets every object that changes, and nothing when a watch got its first list. */
export function watchNamespace(
  namespace: string,
  openWatch: OpenWatch,
  onChange: (object: KubernetesObject | undefined) => void,
): NamespaceWatch {
  const sets = new Map<string, WatchedSet>();
  const open = (query: WatchQuery): WatchedSet => {
    const set = openWatch(query);
    set.onChange(onChange);
    return set;
  };
  const { replicaSets, records, rejections, copies } = watchAlways(namespace, open);
  const configs = new Map<string, WatchedSet>();
  const setOf = (kind: RouteKind) => (kind === replicaSetKind ? replicaSets : sets.get(kindId(kind)));

  function configsOf(kind: 'ConfigMap' | 'Secret'): WatchedSet {
    const known = configs.get(`v1 ${kind}`);
    if (known) return known;
    const set = open({ apiVersion: 'v1', kind, namespace, metadataOnly: true });
    configs.set(`v1 ${kind}`, set);
    return set;
  }

  function setKinds(kinds: Iterable<RouteKind>): void {
    const wanted = new Map([...baseKinds, ...kinds].map((kind) => [kindId(kind), kind]));
    for (const [id, kind] of wanted) {
      if (sets.has(id)) continue;
      sets.set(id, open(queryFor(kind, namespace)));
    }
    for (const [id, set] of sets) {
      if (wanted.has(id)) continue;
      sets.delete(id);
      set.close();
    }
  }

  const unneeded = (): Record<Unneeded, NamedSet[]> => ({
    records: [[kindId(secretKind), records]],
    rejections: [[kindId(secretKind), rejections]],
    copies: [
      [kindId(configMapKind), copies.ConfigMap],
      [kindId(secretKind), copies.Secret],
    ],
    configs: [...configs],
  });

  setKinds([]);
  return {
    namespace,
    setKinds,
    problem(kinds) {
      const all: NamedSet[] = [
        ...neededOf(sets, kinds),
        [kindId(replicaSetKind), replicaSets],
        // Lists under way are waited for; one that fails is reported by the code that needs it.
        ...Object.values(unneeded()).flatMap((named) =>
          named.filter(([, set]) => set.problem() === undefined),
        ),
      ];
      return watchProblem(namespace, all);
    },
    unread(what) {
      const problem = watchProblem(namespace, unneeded()[what]);
      return problem?.waiting ? undefined : problem?.message;
    },
    get: (kind, name) => sets.get(kindId(kind))?.get((kind.namespace ?? namespace) || undefined, name),
    list: (kind) => setOf(kind)?.list(namespace) ?? [],
    byKey: (kind, keysOf, key) => setOf(kind)?.byKey(keysOf, key) ?? [],
    records: () => records.list(namespace),
    rejections: () => rejections.list(namespace),
    configCopy: (kind, name) => copies[kind].get(namespace, name),
    configCopies: () => allOf(copies, namespace),
    configVersion(kind, name) {
      const set = configsOf(kind);
      if (!set.synced()) return undefined;
      const metadata = set.get(namespace, name)?.metadata;
      return metadata ? `${metadata.uid} ${metadata.resourceVersion}` : '';
    },
    configOriginal: (kind, name) => configsOf(kind).get(namespace, name),
    async refresh(withinMs, kinds) {
      const needed = neededOf(sets, kinds).map(([, set]) => set);
      const read = await Promise.all([replicaSets, ...needed].map((set) => set.refresh(withinMs)));
      return read.includes(true);
    },
    remember: (object) => sets.get(idOf(object, namespace))?.remember(object),
    close() {
      const single = [replicaSets, records, rejections, copies.ConfigMap, copies.Secret];
      for (const set of [...sets.values(), ...configs.values(), ...single]) set.close();
      sets.clear();
      configs.clear();
    },
  };
}

/** The objects of both sets, with their kinds. */
function allOf(
  { ConfigMap, Secret }: ReturnType<typeof watchAlways>['copies'],
  namespace: string,
): KubernetesObject[] {
  const of = (set: WatchedSet, { apiVersion, kind }: RouteKind) =>
    set.list(namespace).map((object) => ({ ...object, apiVersion, kind }));
  return [...of(ConfigMap, configMapKind), ...of(Secret, secretKind)];
}

function queryFor(kind: RouteKind, own: string): WatchQuery {
  const { apiVersion, namespace = own, lastApplied, managers } = kind;
  const narrow = narrowed.get(kindId(kind));
  return {
    apiVersion,
    kind: kind.kind,
    ...(namespace ? { namespace } : {}),
    ...narrow,
    ...(lastApplied ? { lastApplied } : {}),
    ...(managers ? { managers } : {}),
  };
}

type NamedSet = readonly [id: string, set: WatchedSet];

/** Those that a Canary with these kinds is judged by. */
function neededOf(sets: ReadonlyMap<string, WatchedSet>, kinds: readonly RouteKind[]): NamedSet[] {
  const needed = new Set([...baseKinds, ...kinds].map(kindId));
  return [...sets].filter(([id]) => needed.has(id));
}

function watchProblem(
  namespace: string,
  sets: readonly NamedSet[],
): { waiting: boolean; message: string } | undefined {
  const unsynced = sets.filter(([, set]) => !set.synced());
  if (unsynced.length === 0) return undefined;
  const [id, failing] = unsynced.find(([, set]) => set.problem() !== undefined) ?? [];
  if (!id || !failing) return { waiting: true, message: 'the watches of its namespace are being started' };
  return {
    waiting: false,
    message: `cannot watch ${id} in namespace ${namespace}: ${failing.problem() ?? ''}`,
  };
}

function idOf({ apiVersion, kind, metadata }: KubernetesObject, own: string): string {
  const { namespace = '' } = metadata;
  return kindId(namespace === own ? { apiVersion, kind } : { apiVersion, kind, namespace });
}

function kindId({ apiVersion, kind, namespace }: RouteKind): string {
  return `${apiVersion} ${kind}${namespace ? ` of namespace ${namespace}` : ''}`;
}

const patienceMs = 30_000;

/**
 * Reads everything in a namespace anew that a Canary with these kinds is judged by, unless that was done in the last `freshMs`; true: it was read. An event
 * that a watch lost is otherwise missed for half an hour, which is longer than most deadlines: no release may be given up before (S19).
 * What cannot be read within 30 s is done without: a revert must not wait for one kind that the API server cannot list.
 */
export async function seeAnew(
  clock: Clock,
  view: Pick<NamespaceView, 'refresh'>,
  { freshMs, kinds }: { readonly freshMs: number; readonly kinds: readonly RouteKind[] },
): Promise<boolean> {
  const done = new AbortController();
  const late = sleep(clock, patienceMs, done.signal).then(() => false);
  return Promise.race([view.refresh(freshMs, kinds), late]).finally(() => done.abort());
}

/** A workload of one side, and what it is reached by. */
interface SideRead {
  readonly workload: KubernetesObject;
  /** Name of its Service; empty for none. */
  readonly service: string;
  readonly side: 'canary' | 'primary';
  /** The port of the Canary's own route. */
  readonly routePort?: number | undefined;
}

const controllers: KeysOf = (object) => [controllerOf(object)?.uid ?? ''];
const services: KeysOf = ({ metadata }) => [metadata.labels?.[serviceNameLabel] ?? ''];

/** What the pods of a workload are seen from: of a namespace with a thousand workloads no more than its own. */
export function viewSource(
  view: NamespaceView,
  { workload, service, side, routePort }: SideRead,
): ViewSource {
  const controlled = (kind: RouteKind, { metadata: { uid } }: KubernetesObject) =>
    uid === undefined ? [] : view.byKey(kind, controllers, uid);
  const replicaSets = controlled(replicaSetKind, workload);
  const isService = workload.kind === serviceKind.kind;
  return {
    workload,
    // Those that a Service selects may have any owner.
    pods: isService
      ? view.list(podKind)
      : [workload, ...replicaSets].flatMap((owner) => controlled(podKind, owner)),
    replicaSets,
    controllerRevisions: controlled(controllerRevisionKind, workload),
    service: service === '' ? undefined : view.get(serviceKind, service),
    endpointSlices: view.byKey(endpointSliceKind, services, isService ? workload.metadata.name : service),
    routePort,
    side,
    revisions: view.list(revisionKind),
  };
}
