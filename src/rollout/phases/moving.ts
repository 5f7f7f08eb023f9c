/** From copies to rolling out in place and back, without a moment in which nobody serves (ADR 21). */
import type { CanaryStatus } from '../../api/canary-status.ts';
import { canaryPods, canaryServes, carriedBy } from '../capacity.ts';
import { act, type Draft, note, now, remainingMs, say } from '../draft.ts';
import { awaitsGit, handsOverToGit } from '../other-backends.ts';
import { ALL_TO_CANARY } from '../plan.ts';
import { hasConverged, servingPods, whyNotReady } from '../readiness.ts';
import { lastKnownGood } from '../run.ts';
import { ensurePrimaryCapacity } from '../scalers.ts';
import { SETTLE_MS } from '../standing.ts';
import { isAllOnCanary, isAllOnPrimary, rescueTraffic, returnToPrimary } from '../traffic.ts';
import { handedBack, hasScalerBack } from './terminating.ts';

type Move = NonNullable<CanaryStatus['move']>;

/**
 * The spec names a provider of the other sort than the one in effect. A release under way ends first, with the provider it began with. True when nothing else
 * is to be decided.
 */
export function moves(draft: Draft): boolean {
  const { world, run } = draft;
  const { movesTo } = world;
  if (movesTo === undefined || run) return false;
  if (world.sharesWorkload) toCopies(draft, movesTo);
  else toOneWorkload(draft, movesTo);
  return true;
}

/** The target takes the traffic as when the Canary is deleted; only then does the primary go, and what was made stays without an owner. */
function toOneWorkload(draft: Draft, to: string): void {
  const { status, world, plan } = draft;
  const move = status.move?.to === to ? status.move : { to, startTime: now(draft) };
  status.move = move;
  // It went last, with all traffic read back on the target: whose route this is by now is not the rollout's business any more.
  if (!world.primary && move.handedOverTime !== undefined) return arrived(draft, to);
  if (isLetGo(draft, move))
    return void draft.actions.splice(0, draft.actions.length, { type: 'ReleaseCopies' });
  const isThere = !awaitsGit(draft) && !waitsForEndpoints(draft, move) && handedBack(draft);
  note(
    draft,
    'Moving',
    `moving to provider ${to}, the target takes the traffic: ${whyNotReady(world.target)}`,
    {
      action: 'the primary goes once the target carries all traffic',
    },
  );
  if (!isThere) return void delete move.handedOverTime;
  move.handedOverTime ??= now(draft);
  if (remainingMs(draft, move.handedOverTime, SETTLE_MS) > 0) return;
  if (!handsOverToGit(draft) || !hasScalerBack(draft, plan.progressDeadlineMs)) return;
  act(draft, { type: 'ReleaseCopies' });
}

/** The route is Git's own by now, and a look may still show the primary: nothing of ours is put in order behind it any more. */
function isLetGo({ world }: Draft, { handedOverTime }: Move): boolean {
  return handedOverTime !== undefined && world.routeInGit === true && world.route?.others === 'alone';
}

/** Everything else was let go before the primary; what was not is let go now. */
function arrived(draft: Draft, to: string): void {
  const { status } = draft;
  draft.actions.splice(0, draft.actions.length, { type: 'ReleaseCopies' });
  status.provider = to;
  delete status.move;
  delete status.scaler;
  say(draft, 'Normal', 'Moved', `the target carries all traffic, and is rolled out in place from now on`);
}

/** The target could carry all traffic, and the data plane may not have heard of its pods yet. */
function waitsForEndpoints(draft: Draft, move: Move): boolean {
  const { target } = draft.world;
  const isWhole =
    target?.digest === lastKnownGood(draft.world)?.digest && canaryPods(target) >= carriedBy(draft.world);
  if (!isWhole) delete move.readyTime;
  else move.readyTime ??= now(draft);
  if (!isWhole || isAllOnCanary(draft)) return false;
  return rescueTraffic(draft) || remainingMs(draft, move.readyTime, SETTLE_MS) > 0;
}

/** The workload is whole first, and nothing of it is held. From then on it is a target that serves alone. */
function toCopies(draft: Draft, to: string): void {
  note(draft, 'Moving', `moving to provider ${to} once the workload is as its last-known-good`);
  if (!returnToPrimary(draft)) return;
  draft.status.provider = to;
  draft.status.move = { to, startTime: now(draft) };
  say(
    draft,
    'Normal',
    'Moving',
    `moving to provider ${to}: the primary is brought up, the target serves until then`,
  );
}

/**
 * The primary takes the traffic over from the target that served alone until now. True once it has all of it, for as long as the data plane takes
 * to hear of that: only then may the target rest.
 */
export function takesOver(draft: Draft): boolean {
  const move = moveHere(draft);
  if (!move) return true;
  const { primary, route } = draft.world;
  note(draft, 'Moving', `moving to provider ${move.to}, the target serves: ${whyNotReady(primary)}`, {
    action: 'the target rests once the primary carries all traffic',
  });
  if (!isPrimaryUp(draft, move)) return false;
  if (!returnToPrimary(draft) || !isAllOnPrimary(draft) || route?.accepted !== true) return false;
  move.handedOverTime ??= now(draft);
  if (remainingMs(draft, move.handedOverTime, SETTLE_MS) > 0) return false;
  delete draft.status.move;
  say(draft, 'Normal', 'Moved', 'the primary carries all traffic; the target rests until the next release');
  return true;
}

/** Right after a provider that copies came into effect: its Services are made, and nothing goes to them before the data plane has heard of that. */
export function awaitsServices(draft: Draft): boolean {
  const { move } = draft.status;
  if (!move || draft.run || draft.world.sharesWorkload || draft.world.primary) return false;
  if (remainingMs(draft, move.startTime, SETTLE_MS) === 0) return false;
  note(draft, 'Moving', `moving to provider ${move.to}, the target serves; the Services come first`);
  return true;
}

/** On the way to the provider in effect. One that was on its way to the other one, and was called back, begins with whoever has the traffic. */
function moveHere(draft: Draft): Move | undefined {
  const { status, world } = draft;
  const to = world.canary.spec.provider ?? world.options.defaultProvider;
  if (!status.move || status.move.to === to) return status.move;
  if (isAllOnPrimary(draft)) delete status.move;
  else status.move = { to, startTime: now(draft) };
  return status.move;
}

/** It can carry all traffic, and the data plane has heard of its pods; until then the target has it, whatever a route says that was there before. */
function isPrimaryUp(draft: Draft, move: Move): boolean {
  const { primary, target, scaler } = draft.world;
  const isScaled = !scaler || scaler.primary !== undefined;
  if (!isScaled) act(draft, { type: 'ApplyScalers' });
  const isUp =
    isScaled && hasConverged(primary, draft.plan.primaryReadyPercent) && ensurePrimaryCapacity(draft, 100);
  if (isUp) move.readyTime ??= now(draft);
  if (isUp || move.handedOverTime !== undefined)
    return isAllOnPrimary(draft) || remainingMs(draft, move.readyTime, SETTLE_MS) === 0;
  const mayCarry = servingPods(primary) === 0 || canaryPods(target) >= carriedBy(draft.world);
  if (!isAllOnCanary(draft) && canaryServes(target) && mayCarry)
    act(draft, { type: 'SetTraffic', route: ALL_TO_CANARY });
  return false;
}
