import { type Canary, sharesWorkload } from '../../../api/canary/canary.ts';
import { type CanaryStatus, withoutSpecInForce } from '../../../api/canary/status.ts';
import { calendarOf } from '../../../api/clock.ts';
import { describe, type KubernetesObject, namespacedName } from '../../../api/kubernetes.ts';
import { soonest } from '../../../api/time.ts';
import { LOOK_AGAIN_MS } from '../../../rollout/windows.ts';
import type { HeadView, PeersView, World } from '../../../rollout/world.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { EngineError, type Failure, failureOf } from '../../failure.ts';
import { windowAt } from '../../windows.ts';
import type { FreezesInForce } from '../context/freeze-watch.ts';
import type { NamespaceView } from '../context/namespace-view.ts';
import { type EngineOptions, type Observation, providerOf, type ReadParts } from '../context/observation.ts';
import { kindsOf } from '../watches.ts';
import { primaryDrift } from './drift.ts';
import { refuseForeignOwner, refuseInPlace, refuseOtherRoutes } from './refusals.ts';
import { observeRecords, observeRejections, recallHead } from './releases.ts';
import { revisionOf, sideObjects, sideViews } from './sides.ts';
import { findTargetOwner, foreignTarget } from './target-owner.ts';

/** The result of observing a Canary: its world, or that the watches are still being started. */
type Observed =
  | { readonly kind: 'observed'; readonly observation: Observation }
  | { readonly kind: 'waiting'; readonly message: string };

/** For what is still being listed. A watch event ends the wait earlier; this only covers a lost one. */
export const watchWaitMs = 2_000;

/** What could not be read is asked again after this time, when nothing changes before. */
const unreadAgainMs = 10_000;

/**
 * Builds the World of a Canary from the watches: no request, except that each record is read once to check it (S10), and the primary once
 * when somebody changed it. Records and config that cannot be read stop nothing: the world says so, and no release begins meanwhile.
 * Throws EngineError when the workloads, routes or Services cannot be watched, or, without a last-known-good in the status, the records;
 * RefusedError for a target that cannot be handled.
 */
export async function observe(parts: ReadParts, given: Canary): Promise<Observed> {
  const { canary, provider, movesTo } = providerInEffect(given, parts.options);
  const view = parts.namespace(canary.metadata.namespace ?? '');
  const context = { parts, canary, view, provider, movesTo };
  // The time of the objects that are read first: what follows may wait for the API server.
  const nowMs = parts.clock.nowMs();
  const calendarMs = calendarOf(parts.clock);
  // Asked once, and at no other time: the next change of windows that a tenant may write is searched for only when it is not known yet.
  const inForce = parts.freezes?.of(canary, calendarMs);
  const waitsFor = watchesOf(parts, given, { view, freezes: inForce });
  if (waitsFor !== undefined) return { kind: 'waiting', message: waitsFor };
  const key = namespacedName(canary);
  // Of the same time: an answer that is newer than the time of the world would count as one of a clock that was set back, and be asked for again.
  const checks = parts.checks.outcomeOf(key);
  const { changesMs, ...freezes } = freezesOf(inForce);
  const objects = sideObjects(context);
  const { target, primary, wanted } = objects;
  const status = withoutSpecInForce(canary.status ?? {});
  // Before anything names head by its commit.
  recallHead(parts, canary, { status, view, wanted });
  const ownership = await findTargetOwner(parts, canary, { target: wanted, primary }, view);
  if (ownership.isWaiting) return { kind: 'waiting', message: 'the watches of its config are being started' };
  if (sharesWorkload(provider)) refuseInPlace(canary, view, ownership.owner);
  const movesInPlace = movesTo !== undefined && sharesWorkload(movesTo);
  if (movesInPlace) refuseForeignOwner(canary, ownership.owner);
  const { records, isUnread } = await observeRecords(parts, canary, view);
  const head = ownership.problem ? unknownHead(ownership.problem) : headOf(parts, canary);
  const sides = sideViews(context, objects);
  // A copy is the rollout's own, whoever applies what it is made from.
  const isForeign = ownership.owner === 'another' && workloadKind(canary).sides !== 'copies';
  const digest = head.kind === 'release' ? head.release.digest : undefined;
  const { minIntervalMs, defaultProvider, hasDefaultAlert } = parts.options;
  const world: World = {
    nowMs,
    calendarAheadMs: calendarMs - nowMs,
    leadingSinceMs: parts.leadingSinceMs,
    canary,
    status,
    head,
    records,
    ...observeRejections(canary, view),
    ...sides,
    ...(isForeign ? foreignTarget({ canary, view, digest }, objects, sides) : {}),
    movesTo,
    window: windowAt(parts.heads.specOf(key).windows, calendarMs),
    ...freezes,
    checks,
    peers: peersOf(parts.canaries, canary),
    options: { minIntervalMs, defaultProvider, hasDefaultAlert: hasDefaultAlert === true },
  };
  const revision = revisionOf(context, target);
  const unreadMs = ownership.problem || isUnread ? unreadAgainMs : undefined;
  const changeMs =
    changesMs === undefined ? undefined : Math.min(Math.max(1, changesMs - calendarMs), LOOK_AGAIN_MS);
  const againMs = soonest(unreadMs, changeMs);
  const observation = { canary, world, view, target, primary, provider, revision, againMs };
  if (movesInPlace) await refuseOtherRoutes({ parts, observation });
  return { kind: 'observed', observation: await withDrift(parts, await withAdoptable(parts, observation)) };
}

function freezesOf(inForce: FreezesInForce | 'unknown' | undefined): FreezesInForce {
  return inForce === undefined || inForce === 'unknown' ? {} : inForce;
}

/** What is still being listed, for messages. Throws EngineError for what is needed and cannot be listed. */
function watchesOf(
  parts: ReadParts,
  canary: Canary,
  {
    view,
    freezes,
  }: { readonly view: NamespaceView; readonly freezes: FreezesInForce | 'unknown' | undefined },
): string | undefined {
  const problem = view.problem(kindsOf(canary, parts));
  if (problem?.waiting) return problem.message;
  if (freezes === 'unknown') return 'the freezes are being listed';
  // The status names the last-known-good, which is then read by its name.
  const unknownPast = canary.status?.lastKnownGood ? undefined : view.unread('records');
  const message = problem?.message ?? unknownPast;
  if (message !== undefined) throw new EngineError('WatchFailed', message, true);
  return undefined;
}

async function withAdoptable(parts: ReadParts, observation: Observation): Promise<Observation> {
  const { world } = observation;
  // Without generated objects there is nothing to adopt.
  if (world.sharesWorkload) return observation;
  try {
    const adoptable = await parts.adoption.find(parts, observation);
    return adoptable ? { ...observation, world: { ...world, adoptable } } : observation;
  } catch (error) {
    // Without a digest on the primary, what Flagger left would be overwritten.
    if (world.primary?.digest === undefined) throw error;
    return {
      ...observation,
      world: { ...world, head: unknownHead(failureOf(error)) },
      againMs: unreadAgainMs,
    };
  }
}

/** Head of this very target: under a spec in force that Git has changed, its release may be one of another workload. */
function headOf({ heads }: ReadParts, canary: Canary): HeadView {
  const { view, release } = heads.of(namespacedName(canary));
  const { kind, name } = canary.spec.targetRef;
  if (!release || (release.target.kind === kind && release.target.metadata.name === name)) return view;
  const message = `Git has ${describe(release.target)} as the target, not ${kind} ${name}`;
  return { kind: 'unknown', reason: 'InvalidSpec', message };
}

/** An unknown head: no release begins. */
function unknownHead({ reason, message }: Failure): HeadView {
  return { kind: 'unknown', reason, message };
}

async function withDrift(parts: ReadParts, observation: Observation): Promise<Observation> {
  const { primary } = observation.world;
  if (!primary) return observation;
  const found = await primaryDrift({ parts, observation });
  return { ...observation, world: { ...observation.world, primary: { ...primary, ...found } } };
}

// Which provider a Canary is rolled out with right now: between native and one that copies it first has to move (ADR 21).

/** The Canary with the provider in effect, and the other one where it is on its way to that. */
interface ProviderInEffect {
  readonly canary: Canary;
  readonly provider: string;
  readonly movesTo: string | undefined;
}

/** The status says what the objects in the cluster were made for; where it says nothing, the spec does. */
function providerInEffect(canary: Canary, options: Pick<EngineOptions, 'defaultProvider'>): ProviderInEffect {
  const wanted = providerOf(canary, options);
  const current = canary.status?.provider;
  if (current === undefined || sharesWorkload(current) === sharesWorkload(wanted))
    return { canary, provider: wanted, movesTo: undefined };
  const spec = { ...canary.spec, provider: current } as Canary['spec'];
  return { canary: { ...canary, spec }, provider: current, movesTo: wanted };
}

const nobody: PeersView = { verifying: 0, failingNow: 0, failedTimes: [] };

/**
 * The other Canaries after promotion, from their statuses as watched. Only a Canary that verifies or is held has a use for it; for the
 * others nothing is counted.
 */
export function peersOf(canaries: Pick<ReadParts['canaries'], 'list'>, canary: KubernetesObject): PeersView {
  const statusOf = ({ status }: KubernetesObject) => (status ?? {}) as CanaryStatus;
  const isVerifying = ({ postPromotion }: CanaryStatus) =>
    postPromotion?.state === 'Verifying' || postPromotion?.state === 'Held';
  if (!isVerifying(statusOf(canary))) return nobody;
  const own = namespacedName(canary);
  const others = canaries
    .list()
    .filter((other) => namespacedName(other) !== own)
    .map(statusOf);
  const heldTogether = others.filter(
    ({ postPromotion }) => postPromotion?.state === 'Held' && postPromotion.reason === 'SharedCause',
  );
  // When the newest release of each was found bad by checks; the rejection stays when the release has ended.
  const failedTimes = others.flatMap(({ rejected }) => {
    const newest = rejected?.findLast(({ reason }) => reason === 'ChecksFailed');
    return newest ? [newest.time] : [];
  });
  return { verifying: others.filter(isVerifying).length, failingNow: heldTogether.length, failedTimes };
}
