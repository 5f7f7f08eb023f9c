import { sleep, systemClock } from '../api/clock.ts';
import { apiVersionOf } from '../api/kinds/kinds.ts';
import { conditionOf, describe, type KubernetesObject } from '../api/kubernetes.ts';
import { InputError } from '../api/problems.ts';
import { onApiError } from '../cluster/errors.ts';
import type { RouteKind } from '../contracts/routing.ts';
import { type NamespaceWatch, watchNamespace } from '../engine/canary/context/namespace-view.ts';
import type { EngineOptions, ReadContext, ReadParts } from '../engine/canary/context/observation.ts';
import { observe } from '../engine/canary/observe/observe.ts';
import { canaryInForce } from '../engine/canary/status/spec-in-force.ts';
import { kindsOf } from '../engine/canary/watches.ts';
import { routerFor } from '../providers/routing/table.ts';
import type { HeadView, World } from '../rollout/world.ts';
import { createOpenWatch } from '../server/cluster.ts';
import type { Connection } from '../server/connection.ts';
import { notFound } from './not-found.ts';
import { listedCanaries, notAsked, readParts } from './read-only-parts.ts';

/** Which Canary, and the flags of the controller that reconciles it. */
export interface WorldQuery {
  readonly namespace: string;
  readonly name: string;
  readonly options: EngineOptions;
}

const listDeadlineMs = 15_000;

/**
 * Observes a Canary as the controller does, with its own code and without a way to write, and passes the observation on. Git is not
 * asked: head is what Holdfast last saw there. The bytes of records are not compared with their digest, since that takes the cluster's key.
 * Throws ApiError, InputError.
 */
export async function readCanaryWith<T>(
  connection: Connection,
  query: WorldQuery,
  use: (context: ReadContext) => Promise<T>,
): Promise<T> {
  const { namespace, name, options } = query;
  const reference = { apiVersion: apiVersionOf('Canary'), kind: 'Canary', namespace, name };
  const object = await connection.client.get(reference);
  if (!object) throw await notFound(connection.client, reference);
  const canaries = await allCanaries(connection, object);
  const read = canaryInForce({ canaries, options, routing: routerFor }, object);
  if ('failure' in read) throw new InputError(`${describe(object)}: ${read.failure.message}`);
  const { canary } = read;
  const view = watchNamespace(namespace, createOpenWatch(connection.caches), () => undefined);
  try {
    const kinds = kindsOf(canary, { routing: routerFor, options });
    view.setKinds(kinds);
    await listed(view, kinds);
    const parts = { ...readParts(connection, view, options), canaries };
    const observed = await observe(parts, canary);
    if (observed.kind === 'waiting') throw new Error(observed.message);
    const observation = { ...observed.observation, world: withHeadOfStatus(observed.observation.world) };
    return await use({ parts, observation });
  } finally {
    view.close();
    await connection.caches.stop();
  }
}

/** The other Canaries show causes that they share; who may read only one namespace does without them. */
async function allCanaries({ client }: Connection, object: KubernetesObject): Promise<ReadParts['canaries']> {
  const items = await client.list(apiVersionOf('Canary'), 'Canary', {}).then(
    (list) => list.items,
    onApiError(['forbidden'], () => [object]),
  );
  return listedCanaries(items);
}

async function listed(view: NamespaceWatch, kinds: readonly RouteKind[]): Promise<void> {
  const endMs = Date.now() + listDeadlineMs;
  for (let problem = view.problem(kinds); problem; problem = view.problem(kinds)) {
    if (!problem.waiting || Date.now() > endMs) throw new Error(problem.message);
    await sleep(systemClock, 25);
  }
}

/** Head, and a closed window, as the status has them; nothing else is taken to hold a release back. */
function withHeadOfStatus(world: World): World {
  const { status, nowMs, target, foreignTarget } = world;
  const head = headOfStatus(world);
  const nextOpeningMs = Date.parse(status.next?.time ?? '');
  const { freeze, stepFreeze } = freezesOfStatus(status);
  const isBehindWindow = status.run?.awaitsWindow && !freeze;
  const window = isBehindWindow ? { open: !(nextOpeningMs > nowMs), nextOpeningMs } : undefined;
  // A target that another tool applies runs what is at head.
  if (!foreignTarget || !target || head.kind !== 'release')
    return { ...world, head, window, freeze, stepFreeze };
  return { ...world, head, window, freeze, stepFreeze, target: { ...target, digest: head.release.digest } };
}

/** The freeze that the condition names (src/rollout/windows.ts writes it). */
function freezesOfStatus(status: World['status']): Pick<World, 'freeze' | 'stepFreeze'> {
  const frozen = conditionOf(status, 'Frozen');
  const [, by = '', end, reason = ''] =
    /^by (.*?) until (it is lifted|\S+): (.*)$/.exec(frozen?.message ?? '') ?? [];
  if (frozen?.status !== 'True' || end === undefined) return {};
  const untilMs = Date.parse(end);
  const freeze = { by, reason, untilMs: Number.isNaN(untilMs) ? undefined : untilMs };
  return { freeze, ...(frozen.reason === 'Frozen' ? { stepFreeze: freeze } : {}) };
}

/** Settings count as applied. */
function headOfStatus({ status, primary }: World): HeadView {
  const { lastAppliedSpec: digest, lastAppliedCommit: commit = '', serving = [], history = [] } = status;
  if (!digest) return notAsked;
  const subject = [...serving, ...history].find((entry) => entry.digest === digest)?.subject ?? '';
  return {
    kind: 'release',
    release: {
      digest,
      commit: { commit, subject, author: '', time: '' },
      settingsKey: primary?.settingsKey ?? '',
      replicas: primary?.desiredReplicas,
      mountsConfig: status.run?.mountsConfig === true,
    },
  };
}
