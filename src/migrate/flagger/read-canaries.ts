import { randomBytes } from 'node:crypto';
import type { Canary } from '../../api/canary/canary.ts';
import { sleep, systemClock } from '../../api/clock.ts';
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import { type KubernetesObject, namespacedName } from '../../api/kubernetes.ts';
import { unknownController, watchFlagger } from '../../engine/canary/context/flagger-watch.ts';
import { createHeads } from '../../engine/canary/context/heads.ts';
import { createLiveHeads } from '../../engine/canary/context/live-heads.ts';
import {
  type NamespaceWatch,
  serviceKind,
  watchNamespace,
} from '../../engine/canary/context/namespace-view.ts';
import type { EngineOptions, Observation, ReadParts } from '../../engine/canary/context/observation.ts';
import { createAdoption } from '../../engine/canary/observe/adoption.ts';
import { observe } from '../../engine/canary/observe/observe.ts';
import { readCanary } from '../../engine/canary/status/spec-in-force.ts';
import { kindsByNamespace } from '../../engine/canary/watches.ts';
import { EngineError } from '../../engine/failure.ts';
import { createRecords } from '../../engine/records/records.ts';
import type { FieldDifference } from '../../health/workload-view.ts';
import { routerFor } from '../../providers/routing/table.ts';
import { listedCanaries, readParts } from '../../review/read-only-parts.ts';
import type { World } from '../../rollout/world.ts';
import { createClusterPort, createOpenWatch } from '../../server/cluster.ts';
import { readClusterKey } from '../../server/cluster-key.ts';
import type { Connection } from '../../server/connection.ts';
import { serviceNames } from '../../workload/shared/metadata.ts';
import { refuseForeign } from '../../workload/shared/refusal.ts';
import { releaseDifferences } from './release-differences.ts';

/** Which Canaries, and with which flags the controller would run. */
export interface AdoptionQuery {
  /** Empty: all namespaces. */
  readonly watchNamespaces: readonly string[];
  /** Where Holdfast runs, or would: its HMAC key is there. */
  readonly ownNamespace: string;
  readonly options: EngineOptions;
  readonly tracksConfig: boolean;
}

/** A Canary as the controller would find it. */
export interface ObservedCanary {
  /** As read, also where it cannot be understood. */
  readonly object: KubernetesObject;
  /** Who acts on it now, so that Holdfast would not; also that this is not known. */
  readonly foreignController: string | undefined;
  readonly found:
    | { readonly refusal: string }
    | { readonly world: World; readonly differences: readonly FieldDifference[] };
}

const lookDeadlineMs = 15_000;

/**
 * Observes every Canary with the controller's own code and without a way to write, as at its first pass after a start. No Source is read: the
 * live targets are the desired state. Throws ApiError.
 */
export async function readCanaries(connection: Connection, query: AdoptionQuery): Promise<ObservedCanary[]> {
  const openWatch = createOpenWatch(connection.caches);
  const flagger = watchFlagger(openWatch, systemClock, query.watchNamespaces);
  const views = new Map<string, NamespaceWatch>();
  try {
    const canaries = await listCanaries(connection, query);
    for (const [namespace, kinds] of kindsByNamespace(canaries, {
      routing: routerFor,
      options: query.options,
    })) {
      const view = watchNamespace(namespace, openWatch, () => undefined);
      view.setKinds(kinds);
      views.set(namespace, view);
    }
    const look = await createLook(connection, query, { canaries, views });
    // It is known of all namespaces at once.
    await within(async () => flagger.actsOn('') !== unknownController || undefined);
    const seen: ObservedCanary[] = [];
    for (const object of canaries) {
      const who = flagger.actsOn(object.metadata.namespace ?? '');
      const why = flagger.problem() ?? 'listing its Deployments timed out';
      const foreignController =
        who === unknownController ? `it is not known whether Flagger runs (${why})` : who;
      seen.push({ object, foreignController, found: await look(object) });
    }
    return seen;
  } finally {
    flagger.close();
    for (const view of views.values()) view.close();
    await connection.caches.stop();
  }
}

async function listCanaries(
  { client }: Connection,
  { watchNamespaces }: AdoptionQuery,
): Promise<KubernetesObject[]> {
  const places = watchNamespaces.length > 0 ? watchNamespaces.map((namespace) => ({ namespace })) : [{}];
  const lists = await Promise.all(
    places.map((place) => client.list(apiVersionOf('Canary'), 'Canary', place)),
  );
  return lists
    .flatMap(({ items }) => items)
    .sort((left, right) => (namespacedName(left) < namespacedName(right) ? -1 : 1));
}

interface Around {
  readonly canaries: readonly KubernetesObject[];
  readonly views: ReadonlyMap<string, NamespaceWatch>;
}

async function createLook(
  connection: Connection,
  query: AdoptionQuery,
  { canaries, views }: Around,
): Promise<(object: KubernetesObject) => Promise<ObservedCanary['found']>> {
  const cluster = createClusterPort(connection.client);
  // Where Holdfast never ran no digest of it can be compared with: any key serves.
  const secretKey = (await readClusterKey(cluster, query.ownNamespace)) ?? randomBytes(32);
  const { tracksConfig, options } = query;
  const heads = createHeads();
  heads.listed();
  const shared = {
    heads,
    liveHeads: createLiveHeads({ cluster, secretKey, tracksConfig }),
    adoption: createAdoption({ cluster, dryRun: noDryRun, secretKey, tracksConfig }),
    records: createRecords(cluster, secretKey),
    canaries: listedCanaries(canaries),
  };

  return async (object) => {
    const view = views.get(object.metadata.namespace ?? '');
    if (!view) return { refusal: 'it has no namespace' };
    const parts: ReadParts = { ...readParts(connection, view, options), ...shared };
    const read = readCanary(parts, object);
    if ('failure' in read) return { refusal: read.failure.message };
    try {
      const { canary, world } = await observation(parts, read.canary);
      const key = namespacedName(canary);
      const wanted = heads.of(key).release;
      const { adoptable } = world;
      const running = adoptable && !adoptable.isHead && heads.earlier(key, adoptable.release.digest);
      return { world, differences: wanted && running ? releaseDifferences(wanted, running) : [] };
    } catch (error) {
      return { refusal: (error as Error).message };
    }
  };
}

/** Only releases from Git are tried by dry-run, and none is read here. */
const noDryRun = {
  apply: () => Promise.reject(new Error('nothing is tried by dry-run')),
  create: () => Promise.reject(new Error('nothing is tried by dry-run')),
};

async function observation(parts: ReadParts, canary: Canary): Promise<Observation> {
  const seen = await within(async () => {
    const observed = await observe(parts, canary);
    return observed.kind === 'observed' ? observed.observation : undefined;
  });
  if (!seen) throw new EngineError('WatchFailed', 'listing its objects timed out', true);
  refuseForeign(seen.primary, canary);
  for (const name of Object.values(serviceNames(canary)))
    refuseForeign(seen.view.get(serviceKind, name), canary);
  return seen;
}

/** Asks again until there is an answer, or the time is up. */
async function within<T>(look: () => Promise<T | undefined>): Promise<T | undefined> {
  const endMs = Date.now() + lookDeadlineMs;
  for (;;) {
    const found = await look();
    if (found !== undefined || Date.now() > endMs) return found;
    await sleep(systemClock, 25);
  }
}
