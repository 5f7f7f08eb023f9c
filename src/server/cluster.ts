import { type Clock, sleep } from '../api/clock.ts';
import { apiVersionOf, type KindName } from '../api/kinds/kinds.ts';
import { type ParsedKinds, parseKind } from '../api/kinds/parse.ts';
import { applyCrds, type KubernetesObject, type NamespacedName, secretBytes } from '../api/kubernetes.ts';
import type { Caches } from '../cluster/caches/caches.ts';
import type { ClusterClient } from '../cluster/client/client.ts';
import { isApiError } from '../cluster/errors.ts';
import type { Cluster, DryRun, Log, OpenWatch, WatchedSet } from '../contracts/cluster.ts';
import { rolloutManager } from '../workload/compare/managed-fields.ts';
import { createWriteGate, type WriteGate } from './write-gate.ts';

/** Dry-runs as the rollout's own writes would be made. */
export function createDryRun(client: Pick<ClusterClient, 'apply' | 'create'>): DryRun {
  return {
    async apply(object) {
      await client.apply(object, { manager: rolloutManager, force: true, dryRun: true });
    },
    create: (object) => client.create(object, { manager: rolloutManager, dryRun: true }),
  };
}

/** The part of the port that applies, every write a dry run. */
export function createDryCluster(client: Pick<ClusterClient, 'apply'>): Pick<Cluster, 'apply'> {
  return {
    apply: (object, { manager, force, over }) =>
      client.apply(object, { manager, force, ...over, dryRun: true }),
  };
}

const accessReview = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview' };

/** The engine's view of the API server; without a gate it may only be read. */
export function createClusterPort(
  client: ClusterClient,
  gate?: Pick<WriteGate, 'send' | 'mayWrite'>,
  impersonate?: string,
  readsToo = false,
): Cluster {
  const { send, mayWrite } = gate ?? createWriteGate(() => false);
  const asReader = impersonate !== undefined && readsToo ? { impersonate } : {};
  const asUser = { ...(impersonate === undefined ? {} : { impersonate }), maySend: mayWrite };

  async function kindOf(apiVersion: string, kind: string): Promise<{ namespaced: boolean } | undefined> {
    try {
      const { namespaced } = await client.resolve(apiVersion, kind);
      return { namespaced };
    } catch (error) {
      if (isApiError(error, 'unknownKind')) return undefined;
      throw error;
    }
  }

  return {
    get: (reference) => client.get(reference, asReader),
    async list({ apiVersion, kind, ...selection }) {
      if (!(await kindOf(apiVersion, kind))) return [];
      const { items } = await client.list(apiVersion, kind, {
        ...selection,
        metadataOnly: true,
        ...asReader,
      });
      return items;
    },
    async apply(object, { manager, force, over, dryRun = false }) {
      return send(() => client.apply(object, { manager, force, ...over, ...asUser, dryRun }));
    },
    async create(object) {
      return send(() => client.create(object, { manager: rolloutManager, ...asUser }));
    },
    async patch(reference, patch, subresource) {
      // A status that the installed CRD does not know in full is found by comparing, with a clearer message.
      const part = subresource ? { subresource, fieldValidation: 'Ignore' as const } : {};
      return send(() =>
        client.patch(reference, patch, { type: 'merge', manager: rolloutManager, ...asUser, ...part }),
      );
    },
    async delete(reference, preconditions) {
      await send(() => client.delete(reference, { ...preconditions, ...asUser }));
    },
    as: (user, options) => createClusterPort(client, gate, user, options?.readsToo),
    async mayPatch({ apiVersion, kind, namespace, name }) {
      const { plural: resource } = await client.resolve(apiVersion, kind);
      const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
      const resourceAttributes = { verb: 'patch', group, resource, namespace, name };
      const review = { ...accessReview, metadata: { name: '' }, spec: { resourceAttributes } };
      // Stored nowhere: the answer is the object's status.
      const { status } = await client.create(review, { manager: rolloutManager, ...asUser });
      return (status as { allowed?: boolean } | undefined)?.allowed === true;
    },
    kindOf,
    servedKind: (group, kind) => client.find(group, kind),
    capabilities: () => client.capabilities(),
  };
}

/** Values of external metrics, which the API server serves under the metrics' own names. */
export function createExternalMetric(
  client: Pick<ClusterClient, 'getPath'>,
): (
  question: { readonly namespace: string; readonly metric: string; readonly labelSelector: string },
  signal: AbortSignal,
) => Promise<unknown> {
  return ({ namespace, metric, labelSelector }, signal) =>
    client.getPath(
      {
        path: `/apis/external.metrics.k8s.io/v1beta1/namespaces/${encodeURIComponent(namespace)}/${encodeURIComponent(metric)}`,
        query: labelSelector ? { labelSelector } : {},
        object: `external metric ${namespace}/${metric}`,
      },
      { signal },
    );
}

/** The engine's view of the watch caches. */
export function createOpenWatch(caches: Caches): OpenWatch {
  return (query) => {
    const handle = caches.ensure(query);
    const endings: Array<() => void> = [];
    const listeners = new Set<(object: KubernetesObject | undefined) => void>();
    let closed = false;
    void handle.synced().then(() => {
      if (!closed) for (const listener of listeners) listener(undefined);
    });
    const set: WatchedSet = {
      synced: () => handle.health().synced,
      problem: () => handle.health().lastError || undefined,
      isRefused: () => handle.health().refused,
      get: (namespace, name) => handle.store.get(namespace, name),
      list: (namespace) => handle.store.list(namespace),
      byKey: (keysOf, key) => handle.store.byKey(keysOf, key),
      remember: (object) => caches.observe(object),
      refresh: (withinMs) => handle.refresh(withinMs),
      onChange(listener) {
        listeners.add(listener);
        // Present objects are reported by the one call after the first list.
        let replaying = true;
        endings.push(
          handle.store.subscribe((_type, object) => {
            if (!replaying && handle.health().synced) listener(object);
          }),
        );
        replaying = false;
        if (handle.health().synced) listener(undefined);
      },
      close() {
        closed = true;
        for (const end of endings) end();
        void handle.release();
      },
    };
    return set;
  };
}

/** Watches one of our kinds in these namespaces; none: in all. */
export function openKind(openWatch: OpenWatch, kind: KindName, namespaces: readonly string[]): WatchedSet {
  const apiVersion = apiVersionOf(kind);
  if (namespaces.length === 0) return openWatch({ apiVersion, kind });
  return unionOf(namespaces.map((namespace) => openWatch({ apiVersion, kind, namespace })));
}

/** Several watches as one, for instance of a few namespaces instead of the whole cluster. */
function unionOf(sets: readonly WatchedSet[]): WatchedSet {
  const [only] = sets;
  if (only && sets.length === 1) return only;
  return {
    synced: () => sets.every((set) => set.synced()),
    problem: () => sets.map((set) => set.problem()).find((problem) => problem !== undefined),
    isRefused: () => sets.some((set) => set.isRefused()),
    get(namespace, name) {
      for (const set of sets) {
        const found = set.get(namespace, name);
        if (found) return found;
      }
      return undefined;
    },
    list: (namespace) => sets.flatMap((set) => set.list(namespace)),
    byKey: (keysOf, key) => sets.flatMap((set) => set.byKey(keysOf, key)),
    remember: (object) => sets[0]?.remember(object),
    async refresh(withinMs) {
      const read = await Promise.all(sets.map((set) => set.refresh(withinMs)));
      return read.includes(true);
    },
    onChange(listener) {
      for (const set of sets) set.onChange(listener);
    },
    close() {
      for (const set of sets) set.close();
    },
  };
}

/**
 * A cluster that is only read: a write answers as if it had been made, and nothing is sent. The last line of defence of `--shadow`, under
 * everything else.
 */
export function createShadowPort(cluster: Cluster, log: Log): Cluster {
  const logSkipped = (verb: string, object: { kind: string; name?: string }) =>
    log.debug({ verb, kind: object.kind, name: object.name }, 'shadow mode: not written');
  const shadow: Cluster = {
    as: () => shadow,
    mayPatch: async () => true,
    get: cluster.get,
    list: cluster.list,
    kindOf: cluster.kindOf,
    servedKind: cluster.servedKind,
    capabilities: cluster.capabilities,
    async apply(object) {
      logSkipped('apply', { kind: object.kind, name: object.metadata.name });
      return object;
    },
    async create(object) {
      logSkipped('create', { kind: object.kind, name: object.metadata.name });
      return object;
    },
    async patch(reference, patch) {
      logSkipped('patch', reference);
      const live = await cluster.get(reference);
      return { ...reference, ...live, ...patch, metadata: live?.metadata ?? reference } as KubernetesObject;
    },
    async delete(reference) {
      logSkipped('delete', reference);
    },
  };
  return shadow;
}

const neededKinds: readonly KindName[] = ['Source', 'Canary', 'MetricTemplate', 'AlertProvider'];
const retryMs = 5_000;

/** Waits until the cluster serves our kinds, and reports what to do. Ends early when the signal aborts. */
export async function waitForKinds(
  cluster: Pick<Cluster, 'kindOf'>,
  { clock, log, onProblem }: { clock: Clock; log: Log; onProblem: (problem: string | undefined) => void },
  signal: AbortSignal,
): Promise<void> {
  let said = '';
  while (!signal.aborted) {
    const problem = await missingKinds(cluster);
    onProblem(problem);
    if (problem === undefined) return;
    if (problem !== said) log.error({ reason: 'NotReady' }, problem);
    said = problem;
    await sleep(clock, retryMs, signal);
  }
}

async function missingKinds(cluster: Pick<Cluster, 'kindOf'>): Promise<string | undefined> {
  try {
    const found = await Promise.all(neededKinds.map((kind) => cluster.kindOf(apiVersionOf(kind), kind)));
    const missing = neededKinds.filter((_, index) => found[index] === undefined);
    if (missing.length === 0) return undefined;
    return `the cluster lacks the CRDs of ${missing.join(', ')}; run: ${applyCrds}`;
  } catch (error) {
    return `cannot reach the API server: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** An object that a Canary names, from its watched set; a text: why it cannot be used. */
export function namedObject<Kind extends 'AlertProvider' | 'MetricTemplate'>(
  set: Pick<WatchedSet, 'get' | 'synced' | 'problem'>,
  kind: Kind,
  { namespace, name }: NamespacedName,
): ParsedKinds[Kind] | string {
  const what = `${kind} ${namespace}/${name}`;
  const object = set.get(namespace, name);
  // Where the set cannot be read, it may well exist.
  if (!object && !set.synced())
    return `${what} cannot be read: ${set.problem() ?? 'objects of its kind were not listed yet'}`;
  if (!object) return `${what} does not exist`;
  const parsed = parseKind(kind, object);
  if (parsed.ok) return parsed.value;
  const [problem] = parsed.problems;
  return `${what}: ${problem?.path ?? ''} ${problem?.message ?? ''}`;
}

/** Decoded values of a Secret, never cached; undefined when none is named or it does not exist. */
export async function secretValues(
  cluster: Pick<Cluster, 'get'>,
  namespace: string | undefined,
  name: string | undefined,
): Promise<Record<string, string> | undefined> {
  if (!name) return undefined;
  const secret = await cluster.get({ apiVersion: 'v1', kind: 'Secret', namespace: namespace ?? '', name });
  if (!secret) return undefined;
  const values = Object.entries(secretBytes(secret));
  return Object.fromEntries(values.map(([key, value]) => [key, value.toString('utf8')]));
}
