import { canaryPods, canaryServes, carriedBy } from '../capacity.ts';
import { act, type Draft, note, remainingMs, say, wakeIn } from '../draft.ts';
import { isLost } from '../kept.ts';
import { ALL_TO_CANARY } from '../plan.ts';
import { isReady, servingPods, whyNotReady } from '../readiness.ts';
import { lastKnownGood } from '../run.ts';
import { pauseCanary, restoreFloor, resumeReplicas, scalerOf } from '../scalers.ts';
import { SETTLE_MS } from '../standing.ts';
import { growCanary, isAllOnCanary, rescueTraffic, returnToPrimary } from '../traffic.ts';
import { sinceMs } from '../units.ts';
import type { RecordView, WorkloadView, World } from '../world.ts';
import { endInPlace } from './ending-in-place.ts';

/** Beyond the time that pods may take: routes, reads and the queue (L10). */
const GRACE_MS = 30_000;

/**
 * The Canary is deleted with `revertOnDeletion`: the target takes the traffic back with the last-known-good, read back, and only then may
 * everything that the Canary owns go (flagger-behaviour 2.12). Bounded: after the deadline it goes, what is needed to serve stays, and a
 * person is told (L10).
 */
export function terminating(draft: Draft): void {
  const { world, status, plan } = draft;
  const waitedMs = sinceMs(world.nowMs, world.canary.metadata.deletionTimestamp);
  const limitMs = plan.progressDeadlineMs + GRACE_MS;
  if (world.sharesWorkload) return endInPlace(draft, limitMs - waitedMs);
  // Between two providers the traffic is on its way to the target anyway.
  if (world.canary.spec.revertOnDeletion !== true && world.movesTo === undefined) {
    note(draft, 'Terminating', 'spec.revertOnDeletion is off: the Canary goes with all it made');
    draft.intentFirst = true;
    return act(draft, { type: 'RemoveFinalizer' });
  }
  if (handedBack(draft)) {
    status.phase = 'Terminated';
    note(draft, 'HandedBack', 'the target carries all traffic; what the Canary made goes now');
    const settled = world.status.phase === 'Terminated';
    if (!settled) return wakeIn(draft, SETTLE_MS);
    if (remainingMs(draft, world.status.lastTransitionTime, SETTLE_MS) > 0) return;
    if (hasScalerBack(draft, limitMs - waitedMs)) letGo(draft);
    return;
  }
  if (waitedMs < limitMs) {
    status.phase = 'Terminating';
    return wakeIn(draft, limitMs - waitedMs);
  }
  giveUp(draft);
}

/** The target's scaler is as it was before the rollout; it first has time to see the load, as far as there is any left. */
export function hasScalerBack(draft: Draft, leftMs: number): boolean {
  const { scaler, status } = draft.world;
  if (scaler?.canary?.restoreMinReplicas === undefined) return true;
  if (leftMs > 0 && remainingMs(draft, status.lastTransitionTime, scaler.settleMs) > 0) {
    wakeIn(draft, leftMs);
    return false;
  }
  return restoreFloor(draft, 'canary');
}

/** One step towards all traffic on a ready target; true once that was read back. */
export function handedBack(draft: Draft): boolean {
  const { world } = draft;
  const { target, route } = world;
  const good = lastKnownGood(world);
  const why = whyNotReady(target);
  note(draft, 'Terminating', `handing the traffic back to the target before the Canary goes: ${why}`, {
    action: 'the Canary goes once the target carries all traffic',
  });
  if (rescueTraffic(draft)) return false;
  if (good && wantsAnother(draft, good) && (!isLost(good) || servingPods(world.primary) > 0)) {
    // The target changes only without traffic.
    if (route && !returnToPrimary(draft)) return false;
    // Nothing unproven takes the place of a last-known-good that serves and cannot be written anew.
    if (isLost(good)) return false;
    pauseCanary(draft, false);
    act(draft, { type: 'ApplyCanary', digest: good.digest, replicas: podsToStart(world) });
    return false;
  }
  if (!target) return world.primary === undefined;
  if (!carriesAll(draft, target)) return false;
  if (isAllOnCanary(draft)) {
    apexFollows(draft);
    return route?.accepted === true;
  }
  act(draft, { type: 'SetTraffic', route: ALL_TO_CANARY });
  return false;
}

/** The target has the pods for all traffic, ready. With the traffic on it, its scaler alone decides how many it has. */
function carriesAll(draft: Draft, target: WorkloadView): boolean {
  const { world, plan } = draft;
  if (isAllOnCanary(draft) && scalerOf(world, 'canary') && canaryServes(target)) return true;
  if (target.desiredReplicas >= carriedBy(world)) return isReady(target, plan.canaryReadyPercent);
  growCanary(draft, target, carriedBy(world));
  return false;
}

/** Who calls the apex Service past the route reaches the target as well, before the primary goes. */
function apexFollows({ world, actions }: Draft): void {
  const digest = world.target?.digest;
  if (digest) actions.push({ type: 'EnsureServices', primaryDigest: digest, canaryDigest: digest });
}

/** Under a scaler a target begins with what that allows, and keeps the pods it has. */
function podsToStart(world: World): number {
  const scaler = scalerOf(world, 'canary');
  return scaler ? Math.max(resumeReplicas(scaler), world.target?.desiredReplicas ?? 0) : carriedBy(world);
}

/** The target runs something else than the last-known-good, unless it is the only healthy copy: then what serves goes on serving. */
function wantsAnother({ world }: Draft, good: RecordView): boolean {
  const { target, primary, route } = world;
  if (target?.digest === good.digest || world.foreignTarget) return false;
  const onlyTheTarget = (route?.canaryWeight ?? 0) > 0 && primary?.digest !== good.digest;
  return !onlyTheTarget || servingPods(target) === 0;
}

/** The time is up: who can carry the traffic has it and stays, and a person is told (S2, L10). */
function giveUp(draft: Draft): void {
  draft.actions.length = 0;
  draft.status.phase = 'Terminated';
  const { primary, target } = draft.world;
  const keepsPrimary = needsPrimary(draft);
  const rest =
    keepsPrimary && primary
      ? `${primary.name} stays, without an owner, and the Canary goes`
      : 'the Canary goes all the same';
  const message = `the target did not take the traffic back in time: ${whyNotReady(target)}; ${rest}`;
  note(draft, 'HandBackGivenUp', message);
  say(draft, 'Warning', 'HandBackGivenUp', message);
  if (!keepsPrimary) apexFollows(draft);
  release(draft, keepsPrimary);
}

/** Moves the traffic to whoever can carry it. The primary may go only when the target was read back to carry all of it. */
function needsPrimary(draft: Draft): boolean {
  const { world, actions } = draft;
  const { primary, target, route } = world;
  if (!route) return true;
  const isWhole = canaryPods(target) >= carriedBy(world);
  const servesAlone = servingPods(primary) === 0 && canaryPods(target) > 0;
  const good = lastKnownGood(world);
  const isWrong = good !== undefined && wantsAnother(draft, good) && servingPods(primary) > 0;
  if ((isWhole && !isWrong) || servesAlone) {
    if (!isAllOnCanary(draft)) act(draft, { type: 'SetTraffic', route: ALL_TO_CANARY });
  } else if (primary) returnToPrimary(draft);
  const isRead = isAllOnCanary(draft) && route.accepted && actions.length === 0;
  return !isRead || servingPods(target) === 0;
}

function letGo(draft: Draft): void {
  say(
    draft,
    'Normal',
    'HandedBack',
    'the target carries all traffic; Services and routes stay, without an owner',
  );
  release(draft, false);
}

/** The status is written first: after the finalizer there is nothing to write to. */
function release(draft: Draft, keepsPrimary: boolean): void {
  draft.intentFirst = true;
  dropRaises(draft);
  pauseCanary(draft, false);
  restoreFloor(draft, 'canary');
  if (keepsPrimary) restoreFloor(draft, 'primary');
  act(draft, { type: 'Disown', primary: keepsPrimary }, { type: 'RemoveFinalizer' });
}

/** Nobody is there afterwards to give back what this very step would raise (S18). */
function dropRaises({ actions }: Draft): void {
  const kept = actions.filter(({ type }) => type !== 'SetScalerFloor');
  actions.splice(0, actions.length, ...kept);
}
