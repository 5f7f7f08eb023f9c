import { randomBytes } from 'node:crypto';
import type { Canary } from '../../api/canary.ts';
import { sleep, systemClock } from '../../api/clock.ts';
import { apiVersionOf } from '../../api/kinds.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { readClusterKey } from '../../app/cluster-key.ts';
import { createClusterPort } from '../../app/cluster-port.ts';
import type { Connection } from '../../app/connection.ts';
import { createOpenWatch } from '../../app/watch-port.ts';
import { createAdoption } from '../../engine/beside/adoption.ts';
import { unknownController, watchFlagger } from '../../engine/beside/flagger-watch.ts';
import { createLiveHeads } from '../../engine/beside/live-heads.ts';
import { readCanary } from '../../engine/canary/canary-check.ts';
import type { EngineOptions, Observation, ReadParts } from '../../engine/canary/canary-parts.ts';
import { keyOf } from '../../engine/canary/checks.ts';
import { kindsByNamespace } from '../../engine/canary/watched-kinds.ts';
import { EngineError } from '../../engine/failure.ts';
import { createHeads } from '../../engine/observe/heads.ts';
import { type NamespaceWatch, serviceKind, watchNamespace } from '../../engine/observe/namespace-view.ts';
import { observe } from '../../engine/observe/observe.ts';
import { createRecords } from '../../engine/records/records.ts';
import type { FieldDifference } from '../../health/workload-view.ts';
import type { World } from '../../rollout/world.ts';
import { routerFor } from '../../routing/table.ts';
import { serviceNames } from '../../workload/names.ts';
import { refuseForeign } from '../../workload/ownership.ts';
import { readParts } from '../read-world.ts';
import { releaseDifferences } from './differences.ts';

/** Which Canaries, and with which flags the controller would run. */
export interface LookQuery {
  /** Empty: all namespaces. */
  readonly watchNamespaces: readonly string[];
  /** Where Holdfast runs, or would: its HMAC key is there. */
  readonly ownNamespace: string;
  readonly options: EngineOptions;
  readonly tracksConfig: boolean;
}

/** A Canary as the controller would find it. */
export interface Seen {
  /** As read, also where it cannot be understood. */
  readonly object: KubernetesObject;
  /** Who acts on it now, so that Holdfast would not. */
  readonly foreignController: string | undefined;
  readonly found:
    | { readonly refusal: string }
    | { readonly world: World; readonly differences: readonly FieldDifference[] };
}

const lookDeadlineMs = 15_000;

/**
 * Looks at every Canary with the controller's own code and without a way to write, as at its first pass after a start. No Source is read: what
 * is wanted is what the live targets say. Throws ApiError.
 */
export async function lookAtCanaries(connection: Connection, query: LookQuery): Promise<Seen[]> {
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
    const seen: Seen[] = [];
    for (const object of canaries) {
      const foreignController = await within(() => actorOn(flagger, object.metadata.namespace ?? ''));
      seen.push({ object, foreignController: foreignController?.who, found: await look(object) });
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
  { watchNamespaces }: LookQuery,
): Promise<KubernetesObject[]> {
  const places = watchNamespaces.length > 0 ? watchNamespaces.map((namespace) => ({ namespace })) : [{}];
  const lists = await Promise.all(
    places.map((place) => client.list(apiVersionOf('Canary'), 'Canary', place)),
  );
  return lists.flatMap(({ items }) => items).sort((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
}

async function actorOn(
  flagger: ReturnType<typeof watchFlagger>,
  namespace: string,
): Promise<{ who: string | undefined } | undefined> {
  const who = flagger.actsOn(namespace);
  return who === unknownController ? undefined : { who };
}

interface Around {
  readonly canaries: readonly KubernetesObject[];
  readonly views: ReadonlyMap<string, NamespaceWatch>;
}

async function createLook(
  connection: Connection,
  query: LookQuery,
  { canaries, views }: Around,
): Promise<(object: KubernetesObject) => Promise<Seen['found']>> {
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
    canaries: {
      get: (key: string) => canaries.find((canary) => keyOf(canary) === key),
      list: () => canaries,
      remember: () => undefined,
    },
  };

  return async (object) => {
    const view = views.get(object.metadata.namespace ?? '');
    if (!view) return { refusal: 'it is in no namespace' };
    const parts: ReadParts = { ...readParts(connection, view, options), ...shared };
    const read = readCanary(parts, object);
    if ('failure' in read) return { refusal: read.failure.message };
    try {
      return foundIn(parts, await observation(parts, read.canary));
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
  if (!seen) throw new EngineError('WatchFailed', 'what belongs to it could not be listed in time', true);
  refuseForeign(seen.primary, canary);
  for (const name of Object.values(serviceNames(canary)))
    refuseForeign(seen.view.get(serviceKind, name), canary);
  return seen;
}

function foundIn({ heads }: ReadParts, { canary, world }: Observation): Seen['found'] {
  const key = keyOf(canary);
  const wanted = heads.of(key).release;
  const running =
    world.adoptable && !world.adoptable.isHead && heads.earlier(key, world.adoptable.release.digest);
  return { world, differences: wanted && running ? releaseDifferences(wanted, running) : [] };
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
