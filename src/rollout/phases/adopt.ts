import type { CanaryPhase, CanaryStatus } from '../../api/canary-status.ts';
import { act, type Draft, enter, note, remainingMs, restartProgress, say } from '../draft.ts';
import { hasConverged, whyNotReady } from '../readiness.ts';
import { headRelease, isRejected, lastKnownGood } from '../run.ts';
import { rescueTraffic } from '../traffic.ts';
import type { AdoptableView, ReleaseView } from '../world.ts';
import { admit, begin, describe } from './admit.ts';

/** Phases in which the primary runs what Flagger promoted, whatever the canary does (flagger-behaviour 2.15, 2.16). */
const PROVEN: ReadonlySet<CanaryPhase> = new Set([
  'Initialized',
  'Succeeded',
  'Finalising',
  'Waiting',
  'Progressing',
  'WaitingPromotion',
]);
/** The analysed release was written to the primary, which had not taken it over yet. */
const WRITTEN: ReadonlySet<CanaryPhase> = new Set(['Promoting', 'Failed']);
/** The canary's pods were started for this very release. */
const ON_CANARY: ReadonlySet<CanaryPhase> = new Set(['Progressing', 'WaitingPromotion']);

/**
 * Takes a primary over that Flagger left, or one that runs what head says under another digest: its template is not written, so that no pod
 * restarts. What Flagger had promoted becomes the last-known-good; what it had rejected stays rejected; what it was trying is tried from
 * the start. True when nothing else is to be decided now.
 */
export function adopts(draft: Draft): boolean {
  const { world, run } = draft;
  const { primary, adoptable } = world;
  if (run || !primary || (primary.digest !== undefined && !adoptable)) return false;
  if (primary.digest !== undefined)
    return adoptable !== undefined && (renames(draft, adoptable) || staysBarred(draft, adoptable));
  if (world.head.kind === 'unknown') {
    // When Flagger wrote the status last tells what it had seen by then.
    draft.leavesStatus = true;
    return true;
  }
  return adoptable !== undefined && takesOver(draft, adoptable);
}

/** The last-known-good under a new name: the API server reads the same template with one more default, or another source tells of it. */
function renames(draft: Draft, { release, isHead }: AdoptableView): boolean {
  const { world } = draft;
  if (!isHead || lastKnownGood(world)?.digest !== world.primary?.digest || isRejected(world, release.digest))
    return false;
  take(draft, release);
  draft.status.lastAppliedSpec = release.digest;
  return true;
}

/** What Flagger tried on a Canary that was given back to it, and found bad. */
function staysBarred(draft: Draft, { isHead, headWasTried }: AdoptableView): boolean {
  const { phase, canaryWeight = 0 } = draft.world.status;
  const head = headRelease(draft.world);
  if (isHead || !headWasTried || !head || phase !== 'Failed' || canaryWeight > 0) return false;
  barFailed(draft, head);
  return true;
}

function takesOver(draft: Draft, adoptable: AdoptableView): boolean {
  const { phase = '' } = draft.world.status;
  const isStalled = phase === 'Failed' && (draft.world.status.canaryWeight ?? 0) > 0;
  if (PROVEN.has(phase) || (phase === 'Failed' && !isStalled)) return asPromoted(draft, adoptable);
  if (adoptable.isHead) return asWritten(draft, adoptable.release);
  if (!WRITTEN.has(phase)) return false;
  // A newer revision than the promoted one is on the target: the promoted one is what the primary can be brought to.
  if (hasConverged(draft.world.primary, draft.plan.primaryReadyPercent)) return asPromoted(draft, adoptable);
  return waits(draft, adoptable.release);
}

/** Flagger found it good: it is the last-known-good. */
function asPromoted(draft: Draft, { release, isHead, headWasTried }: AdoptableView): boolean {
  const { world } = draft;
  const head = headRelease(world);
  const { phase = '' } = world.status;
  take(draft, release);
  const isFailed = phase === 'Failed' && !isHead && headWasTried && head !== undefined;
  // A revision that waits for its gate has not succeeded.
  const stays = phase === 'Initialized' || (phase === 'Waiting' && !isHead);
  const settled = stays ? phase : 'Succeeded';
  draft.status = withoutCounters(draft.status, isFailed ? 'Failed' : settled, release.digest);
  say(draft, 'Normal', 'Adopted', `taken over as Flagger left it: the primary runs ${describe(release)}`);
  if (isFailed) barFailed(draft, head);
  else if (head && !isHead && ON_CANARY.has(phase)) tryAgain(draft, head);
  return true;
}

/** What failed under Flagger is not tried again until it changes. */
function barFailed(draft: Draft, head: ReleaseView): void {
  draft.status.lastAppliedSpec = head.digest;
  draft.status.lastAppliedCommit = head.commit.commit;
  if (isRejected(draft.world, head.digest)) return;
  act(draft, {
    type: 'Reject',
    digest: head.digest,
    commit: head.commit.commit,
    reason: 'FailedUnderFlagger',
  });
}

/** Its pods are there and its gate was open: it goes on from weight 0. */
function tryAgain(draft: Draft, head: ReleaseView): void {
  const run = admit(draft, head);
  delete run.awaitsConfirmation;
  delete run.awaitsWindow;
  run.keepsPods = true;
  draft.status.phase = 'Progressing';
}

/**
 * It was written and has not taken over: the first release here, which is good once it has. Where an older one is kept, since Flagger had the
 * Canary only for a while, it is a promotion like any other, and can be gone back from.
 */
function asWritten(draft: Draft, release: ReleaseView): boolean {
  take(draft, release, false);
  const isFirst = lastKnownGood(draft.world) === undefined;
  draft.status = withoutCounters(draft.status, isFirst ? 'Initializing' : 'Promoting', release.digest);
  if (!isFirst) goesOn(draft, release);
  say(
    draft,
    'Normal',
    'Adopted',
    `taken over as Flagger left it: ${describe(release)} is on its way to the primary`,
  );
  return true;
}

function goesOn(draft: Draft, release: ReleaseView): void {
  const run = begin(draft, release);
  run.keepsPods = true;
  run.broughtUp = true;
  restartProgress(draft, run);
  enter(draft, 'Converging', 'Promoting');
}

/** Until the deadline; then the newer revision goes to the primary, as it would without a proven release (design section 4, bootstrap). */
function waits(draft: Draft, release: ReleaseView): boolean {
  const { primary, status } = draft.world;
  if (remainingMs(draft, status.lastTransitionTime, draft.plan.progressDeadlineMs) === 0) return false;
  note(
    draft,
    'PrimaryNotReady',
    `Flagger promoted ${describe(release)}, which the primary does not run yet: ${whyNotReady(primary)}`,
  );
  rescueTraffic(draft);
  return true;
}

/** The record first: what the primary is said to run can be had from then on (S10). */
function take(draft: Draft, { digest }: ReleaseView, isProven = true): void {
  act(draft, { type: 'SaveRecord', digest });
  if (isProven) act(draft, { type: 'MarkProven', digest });
  act(draft, { type: 'AdoptPrimary', digest });
}

function withoutCounters(status: CanaryStatus, phase: CanaryPhase, digest: string): CanaryStatus {
  return { ...status, phase, lastAppliedSpec: digest, failedChecks: 0, iterations: 0 };
}
