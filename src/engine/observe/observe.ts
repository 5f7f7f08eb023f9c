import type { Canary } from '../../api/canary.ts';
import type { CanaryStatus } from '../../api/canary-status.ts';
import { sharesWorkload } from '../../api/effective.ts';
import { describe } from '../../api/kubernetes.ts';
import type { World, WorldOptions } from '../../rollout/world.ts';
import { workloadKind } from '../../workload/kinds.ts';
import { hearTarget } from '../beside/hear-target.ts';
import type { EngineOptions, Observation, ReadParts } from '../canary/canary-parts.ts';
import { keyOf } from '../canary/checks.ts';
import { peersOf } from '../canary/peers.ts';
import { kindsOf } from '../canary/watched-kinds.ts';
import { EngineError } from '../failure.ts';
import { rejectionsOf } from '../records/records.ts';
import { windowAt } from '../windows/windows.ts';
import { primaryDrift } from './drift.ts';
import { refuseAnother, refuseInPlace } from './in-place.ts';
import { refuseOtherRoutes } from './moving-routes.ts';
import type { NamespaceView } from './namespace-view.ts';
import { observeRecords } from './observe-records.ts';
import { providerInEffect } from './provider-in-effect.ts';
import { revisionOf, sideObjects, sideViews } from './sides.ts';

/** What a look at a Canary gave: its world, or that the watches are still being started. */
export type Observed =
  | { readonly kind: 'observed'; readonly observation: Observation }
  | { readonly kind: 'waiting'; readonly message: string };

/**
 * Builds the World of a Canary from the watches: no request, except that each record is read once to check it (S10), and the primary once
 * when somebody changed it.
 * Throws EngineError when something needed cannot be watched or read, RefusedError for a target that cannot be handled.
 */
export async function observe(parts: ReadParts, given: Canary): Promise<Observed> {
  const { canary, provider, movesTo } = providerInEffect(given, parts.options);
  const view = parts.namespace(canary.metadata.namespace ?? '');
  const context = { parts, canary, view, provider, movesTo };
  const problem = view.problem(kindsOf(given, parts));
  if (problem?.waiting) return { kind: 'waiting', message: problem.message };
  if (problem) throw new EngineError('WatchFailed', problem.message, true);
  const kind = workloadKind(canary);
  const objects = sideObjects(context);
  const { target, primary, wanted } = objects;
  const key = keyOf(canary);
  const keeper = await hearTarget(parts, canary, { target: wanted, primary }, view);
  if (keeper === 'waiting')
    return { kind: 'waiting', message: 'the watches of its config are being started' };
  if (sharesWorkload(provider)) refuseInPlace(context, keeper);
  if (movesTo !== undefined && sharesWorkload(movesTo)) refuseAnother(canary, keeper);
  const world: World = {
    nowMs: parts.clock.nowMs(),
    canary,
    status: (canary.status ?? {}) as CanaryStatus,
    head: parts.heads.of(key).view,
    records: await observeRecords(parts, canary, view),
    rejected: rejected(canary, view),
    ...sideViews(context, objects),
    movesTo,
    window: windowAt(parts.heads.windowsOf(key), parts.clock.nowMs()),
    checks: parts.checks.outcomeOf(key),
    peers: peersOf(parts.canaries.list(), canary),
    options: worldOptions(parts.options),
  };
  const revision = revisionOf(context, objects);
  const observation = { canary, world, view, target, primary, provider, revision };
  if (movesTo !== undefined && sharesWorkload(movesTo)) await refuseOtherRoutes({ parts, observation });
  // A copy is the rollout's own, whoever applies what it is made from.
  const isForeign = keeper === 'another' && kind.sides !== 'copies';
  const seen = isForeign ? withForeignTarget(observation) : observation;
  return { kind: 'observed', observation: await withDrift(parts, await withAdoptable(parts, seen)) };
}

async function withAdoptable(parts: ReadParts, observation: Observation): Promise<Observation> {
  // Where nothing is generated, nothing was left by anybody.
  if (observation.world.sharesWorkload) return observation;
  const adoptable = await parts.adoption.look(parts, observation);
  return adoptable ? { ...observation, world: { ...observation.world, adoptable } } : observation;
}

/** A target that another tool applies runs what is read from it. */
function withForeignTarget(observation: Observation): Observation {
  const { world } = observation;
  const digest = world.head.kind === 'release' ? world.head.release.digest : undefined;
  const target = world.target && { ...world.target, digest };
  return { ...observation, world: { ...world, target, foreignTarget: true } };
}

function worldOptions({ minIntervalMs, defaultProvider, hasDefaultAlert }: EngineOptions): WorldOptions {
  return { minIntervalMs, defaultProvider, hasDefaultAlert: hasDefaultAlert === true };
}

async function withDrift(parts: ReadParts, observation: Observation): Promise<Observation> {
  const { primary } = observation.world;
  if (!primary) return observation;
  const found = await primaryDrift({ parts, observation });
  return { ...observation, world: { ...observation.world, primary: { ...primary, ...found } } };
}

function rejected(canary: Canary, view: NamespaceView) {
  const name = { namespace: canary.metadata.namespace ?? '', name: canary.metadata.name };
  const found = rejectionsOf(view.rejections(), name);
  // The Secret has the newest first, the status has it last.
  if (found) return found.toReversed();
  throw new EngineError(
    'RejectionsDamaged',
    `${describe(canary)}: the Secret with its rejected releases cannot be read; delete it to forget them`,
  );
}
