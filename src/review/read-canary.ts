import type { Canary } from '../api/canary/canary.ts';
import type { CanaryStatus } from '../api/canary/status.ts';
import { sleep, systemClock } from '../api/clock.ts';
import { apiVersionOf } from '../api/kinds/kinds.ts';
import { describe, type KubernetesObject } from '../api/kubernetes.ts';
import { InputError } from '../api/problems.ts';
import { isApiError } from '../cluster/errors.ts';
import type { RouteKind } from '../contracts/routing.ts';
import type { EngineOptions, ReadContext, ReadParts } from '../engine/canary/context/context.ts';
import { createHeads } from '../engine/canary/context/heads.ts';
import { type NamespaceWatch, watchNamespace } from '../engine/canary/context/namespace-view.ts';
import { observe } from '../engine/canary/observe/observe.ts';
import { canaryInForce, kindsOf } from '../engine/canary/status/spec-in-force.ts';
import { createRecords } from '../engine/records/records.ts';
import { routerFor } from '../providers/routing/table.ts';
import type { HeadView, World } from '../rollout/world.ts';
import { createClusterPort, createOpenWatch } from '../server/cluster.ts';
import type { Connection } from '../server/connection.ts';

/** Which Canary, and with which flags the controller that looks after it runs. */
export interface WorldQuery {
  readonly namespace: string;
  readonly name: string;
  readonly options: EngineOptions;
}

const listDeadlineMs = 15_000;

/** The world of a Canary as the controller would see it (see `readCanaryWith`). */
export function readWorld(connection: Connection, query: WorldQuery): Promise<World> {
  return readCanaryWith(connection, query, async ({ observation }) => observation.world);
}

/**
 * Looks at a Canary as the controller does, by its own code and without a way to write, and does something with what was seen. Git is not
 * asked: head is what Holdfast last saw there. The bytes of records are not compared with their digest, since that takes the cluster's key.
 * Throws ApiError, InputError.
 */
export async function readCanaryWith<T>(
  connection: Connection,
  query: WorldQuery,
  use: (context: ReadContext) => Promise<T>,
): Promise<T> {
  const { namespace, name, options } = query;
  const kind = { apiVersion: apiVersionOf('Canary'), kind: 'Canary' };
  const object = await connection.client.get({ ...kind, namespace, name });
  if (!object)
    throw new InputError(
      `${describe({ ...kind, namespace, name })} not found; use -n NAMESPACE for another namespace`,
    );
  const canaries = await allCanaries(connection, object);
  const canary = typed(object, canaries, options);
  const view = watchNamespace(namespace, createOpenWatch(connection.caches), () => undefined);
  try {
    const kinds = kindsOf(canary, { routing: routerFor, options });
    view.setKinds(kinds);
    await listed(view, kinds);
    const parts = { ...readParts(connection, view, options), canaries };
    const observed = await observe(parts, canary);
    if (observed.kind === 'waiting') throw new Error(observed.message);
    const { world } = observed.observation;
    const head = assumedHead(world);
    const window = assumedWindow(world);
    const observation = { ...observed.observation, world: { ...withHead(world, head), window } };
    return await use({ parts, observation });
  } finally {
    view.close();
    await connection.caches.stop();
  }
}

function typed(object: KubernetesObject, canaries: ReadParts['canaries'], options: EngineOptions): Canary {
  const read = canaryInForce({ canaries, options, routing: routerFor }, object);
  if ('failure' in read) throw new InputError(`${describe(object)}: ${read.failure.message}`);
  return read.canary;
}

/** The other Canaries tell of causes that they share; who may read only one namespace is told without them. */
async function allCanaries({ client }: Connection, object: KubernetesObject): Promise<ReadParts['canaries']> {
  const items = await client.list(apiVersionOf('Canary'), 'Canary', {}).then(
    (list) => list.items,
    (error: unknown) => {
      if (isApiError(error, 'forbidden')) return [object];
      throw error;
    },
  );
  const isThis = ({ metadata }: KubernetesObject, key: string) =>
    `${metadata.namespace}/${metadata.name}` === key;
  return {
    get: (key) => items.find((item) => isThis(item, key)),
    list: () => items,
    remember: () => undefined,
  };
}

async function listed(view: NamespaceWatch, kinds: readonly RouteKind[]): Promise<void> {
  const endMs = Date.now() + listDeadlineMs;
  for (let problem = view.problem(kinds); problem; problem = view.problem(kinds)) {
    if (!problem.waiting || Date.now() > endMs) throw new Error(problem.message);
    await sleep(systemClock, 25);
  }
}

/** What a look takes, for one namespace and without a way to write; Git and live targets are not asked. */
export function readParts(
  { client }: Pick<Connection, 'client'>,
  view: NamespaceWatch,
  options: EngineOptions,
): Omit<ReadParts, 'canaries'> {
  const nothing = () => undefined;
  const cluster = createClusterPort(client);
  return {
    clock: systemClock,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    cluster,
    routing: routerFor,
    heads: createHeads(),
    checks: { request: nothing, outcomeOf: nothing, forget: nothing },
    records: createRecords(cluster, undefined),
    ports: new Map(),
    liveHeads: {
      read: async () => ({ view: notAsked }),
      withLiveConfig: async (_, head) => head,
      ...{ names: () => false, namesLive: () => false, forget: nothing, forgetLive: nothing },
    },
    adoption: { find: async () => undefined },
    lostRecords: { of: nothing, find: nothing },
    drift: new Map(),
    options,
    namespace: () => view,
  };
}

const notAsked: HeadView = {
  kind: 'unknown',
  reason: 'Unknown',
  message: 'this command does not read Git',
};

/** A target that another tool applies runs what is at head. */
function withHead(world: World, head: HeadView): World {
  if (!world.foreignTarget || head.kind !== 'release') return { ...world, head };
  return { ...world, head, target: world.target && { ...world.target, digest: head.release.digest } };
}

/** A closed window as the status tells of it; nothing is held back otherwise. */
function assumedWindow({ status, nowMs }: World): World['window'] {
  if (!status.run?.awaitsWindow) return undefined;
  const nextOpeningMs = Date.parse(status.next?.time ?? '');
  return { open: !(nextOpeningMs > nowMs), nextOpeningMs };
}

/** Head as the status tells it; settings count as applied. */
function assumedHead({ status, primary }: World): HeadView {
  const { lastAppliedSpec: digest, lastAppliedCommit: commit = '' } = status;
  if (!digest) return notAsked;
  return {
    kind: 'release',
    release: {
      digest,
      commit: { commit, subject: commitSubject(status, digest), author: '', time: '' },
      settingsKey: primary?.settingsKey ?? '',
      replicas: primary?.desiredReplicas,
      mountsConfig: status.run?.mountsConfig === true,
    },
  };
}

function commitSubject({ serving = [], history = [] }: CanaryStatus, digest: string): string {
  return [...serving, ...history].find((entry) => entry.digest === digest)?.subject ?? '';
}
