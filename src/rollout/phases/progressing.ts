import { carriedBy } from '../capacity.ts';
import { act, type Draft, note, now, restartProgress, say, trackProgress, wakeIn } from '../draft.ts';
import { soundRecord } from '../kept.ts';
import { trafficAt } from '../plan.ts';
import { isReady, whyNotReady } from '../readiness.ts';
import { headRelease, type Run } from '../run.ts';
import { holdPrimary, isAwake, pauseCanary, resumeReplicas, scalerOf } from '../scalers.ts';
import { isUnsettled } from '../standing.ts';
import { growCanary, returnToPrimary } from '../traffic.ts';

import { isPaused } from '../verbs.ts';
import { largestWeight } from '../weights.ts';
import { headFor } from '../windows.ts';
import { admit, nameOf } from './admit.ts';
import { advance } from './advance.ts';
import { bringUpForeign } from './bring-up-foreign.ts';
import { end } from './ending.ts';
import { endedByGit } from './git-moved-on.ts';
import { promote } from './promoting.ts';
import { recreateMissing } from './recreate.ts';
import { isConfirmed } from './waiting.ts';

/** A release is on the canary and is being tried (design section 4, admit and analyse). */
export function progressing(draft: Draft, run: Run): void {
  const current = followHead(draft, run);
  if (!current) return;
  const { world, plan } = draft;
  if (!isConfirmed(draft, current)) return;
  if (goesThroughPrimary(draft, current)) return promote(draft, current);
  if (recreateMissing(draft)) return;
  observeWeight(draft, current);
  if (!isBroughtUp(draft, current)) return bringUp(draft, current);
  if (!hasRoute(draft)) return;
  const standingMs = trackProgress(draft, current, world.target);
  if (!isUp(draft)) return waitForCanary(draft, current, standingMs);
  if (world.route?.canaryWeight === 0 && isUnsettled(draft, current, 'canary')) {
    return note(draft, 'CanaryNotReady', `the canary with ${nameOf(current)} is ready; traffic follows`);
  }
  if (!world.route?.accepted) return waitForRoute(draft);
  if (isBeyondSteps(draft)) return startOver(draft, current);
  keepStep(draft);
  holdPrimary(draft);
  const straight = plan.skipAnalysis || current.fastLane || current.promoteNow;
  if (straight && !isPaused(draft)) return promote(draft, current);
  advance(draft, current);
}

/** The canary is ready; where both sides are pods of one workload, it has none before its first share. */
function isUp({ world, plan }: Draft): boolean {
  const { target, route, sharesWorkload } = world;
  if (sharesWorkload && route?.canaryWeight === 0) return target?.observed === true;
  return isReady(target, plan.canaryReadyPercent);
}

/** The data plane has not taken the route over. */
function waitForRoute(draft: Draft): void {
  goOnToStep(draft);
  note(draft, 'RouteNotAccepted', draft.world.route?.problem ?? 'the route is not accepted yet');
}

/** One workload comes to its step by several writes, each when the last one has taken effect. */
function goOnToStep(draft: Draft): void {
  const { route, sharesWorkload } = draft.world;
  if (sharesWorkload && route && !route.accepted)
    act(draft, { type: 'SetTraffic', route: trafficAt(draft.plan, route.canaryWeight) });
}

/** One workload at its step: what somebody changed of it meanwhile is written again; nothing is where nobody did. */
function keepStep({ world, plan, actions }: Draft): void {
  const weight = world.route?.canaryWeight ?? 0;
  if (world.sharesWorkload && weight > 0)
    actions.push({ type: 'SetTraffic', route: trafficAt(plan, weight) });
}

/** A route is there; what it says was read back. */
function hasRoute(draft: Draft): boolean {
  const { route } = draft.world;
  if (!route) act(draft, { type: 'SetTraffic', route: trafficAt(draft.plan, 0) });
  return route !== undefined;
}

/** More traffic than any step gives: a primary that fell out, or somebody else, brought it there (S3). */
function isBeyondSteps({ world, plan }: Draft): boolean {
  const weight = world.route?.canaryWeight ?? 0;
  return weight > largestWeight(plan) && isReady(world.primary, plan.primaryReadyPercent);
}

/** Steps are not left out: the traffic goes back, and they begin again. */
function startOver(draft: Draft, run: Run): void {
  note(draft, 'Progressing', `${nameOf(run)} has more traffic than a step gives; the steps begin again`);
  returnToPrimary(draft);
}

/** A release that waited for its gate while the last-known-good did not come up; if that is ready now, it is tried like any other. */
function goesThroughPrimary({ world, plan }: Draft, run: Run): boolean {
  const wanted = run.throughPrimary === true;
  delete run.throughPrimary;
  return wanted && !isReady(world.primary, plan.primaryReadyPercent);
}

/** What Git says meanwhile: the last-known-good aborts, another release restarts, a rejected one aborts. */
function followHead(draft: Draft, run: Run): Run | undefined {
  const head = headFor(draft, run);
  if (head && head.digest !== run.digest) {
    if (endedByGit(draft, run, head)) return undefined;
    const next = admit(draft, head);
    if (run.throughPrimary) next.throughPrimary = true;
    return next;
  }
  if (run.restartKey === draft.plan.restartKey) return run;
  say(
    draft,
    'Normal',
    'AnalysisRestarted',
    'steps, strategy, metrics or match changed: the analysis starts again',
  );
  return restart(draft, run);
}

function restart(draft: Draft, run: Run): Run | undefined {
  if (!returnToPrimary(draft)) return undefined;
  run.restartKey = draft.plan.restartKey;
  run.startTime = now(draft);
  run.checkNumber = 0;
  draft.status.iterations = 0;
  draft.status.failedChecks = 0;
  delete run.asksGates;
  delete run.closedGate;
  if (draft.status.phase === 'WaitingPromotion') draft.status.phase = 'Progressing';
  return run;
}

/** Checks count from the moment a weight was seen, not from when it was ordered, and one that passed at another weight no more (S4). */
function observeWeight(draft: Draft, run: Run): void {
  const { route, sharesWorkload } = draft.world;
  const weight = sharesWorkload && !route?.accepted ? undefined : route?.canaryWeight;
  if (weight === undefined || weight === run.weight) return;
  run.weight = weight;
  run.stepTime = now(draft);
  delete run.asksGates;
}

function isBroughtUp({ world }: Draft, run: Run): boolean {
  return world.target?.digest === run.digest && (!world.foreignTarget || run.broughtUp === true);
}

/** Writes the release to the canary, with its traffic at zero, read back, and its bytes kept first. */
function bringUp(draft: Draft, run: Run): void {
  const { world } = draft;
  const head = headRelease(world);
  note(draft, 'NewRevision', `starting the canary with ${nameOf(run)}`, {
    action: 'analysis once the canary is ready',
  });
  if (!soundRecord(world, run.digest)) {
    act(draft, { type: 'SaveRecord', digest: run.digest });
  }
  if (world.route && !returnToPrimary(draft)) return;
  if (!isAwake(draft, run))
    return note(draft, 'PrimaryNotReady', 'the primary rests at zero pods and is woken first');
  if (world.foreignTarget) return bringUpForeign(draft, run);
  const scaler = scalerOf(world, 'canary');
  const asked = head?.digest === run.digest && head.replicas ? head.replicas : carriedBy(world);
  const replicas = scaler ? resumeReplicas(scaler) : asked;
  pauseCanary(draft, false);
  act(draft, { type: 'ApplyCanary', digest: run.digest, replicas });
  restartProgress(draft, run);
}

function waitForCanary(draft: Draft, run: Run, standingMs: number): void {
  const { target, route } = draft.world;
  const { progressDeadlineMs } = draft.plan;
  const why = whyNotReady(target);
  if (standingMs >= progressDeadlineMs || target?.progressDeadlineExceeded) {
    const message = `the canary did not become ready in ${progressDeadlineMs / 1000} s: ${why}`;
    return end(
      draft,
      run,
      { phase: 'Failed', reason: 'ProgressDeadlineExceeded', message },
      'ProgressDeadlineExceeded',
    );
  }
  wakeIn(draft, progressDeadlineMs - standingMs);
  goOnToStep(draft);
  const weight = route?.canaryWeight ?? 0;
  if (target && target.desiredReplicas === 0) growCanary(draft, target, carriedBy(draft.world));
  note(draft, 'CanaryNotReady', `waiting for the canary at ${weight} %: ${why}`);
}
