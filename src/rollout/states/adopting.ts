import type { CanaryPhase } from '../../api/canary/status.ts';
import { hasConverged, whyNotReady } from '../../health/readiness.ts';
import { type Context, remainingMs } from '../context.ts';
import { act, combine, type Effects, NONE, note, type Outcome, STAY, say, stay, wake } from '../outcome.ts';
import { withProgressReset } from '../progress.ts';
import { rejectionOf } from '../run.ts';
import { promotionState, type State } from '../state.ts';
import { type AdoptableView, describeRelease, type ReleaseView } from '../world.ts';
import { admit, begin } from './admit.ts';

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

/** What a take-over gives; `leavesStatus`: nothing is known yet, and the status stays as it was found. */
type Adopted = Outcome & { readonly leavesStatus?: true };

/**
 * Takes a primary over that Flagger left, or one that runs what head says under another digest: its template is not written, so that no pod
 * restarts. What Flagger had promoted becomes the last-known-good; what it had rejected stays rejected; what it was trying is tried from
 * the start. Undefined where there is nothing to take over.
 */
export function adopting(context: Context, state: State): Adopted | undefined {
  const { primary, adoptable, status, head } = context.world;
  if (status.run || !primary || (primary.digest !== undefined && !adoptable)) return undefined;
  if (primary.digest !== undefined)
    return adoptable && (relabel(context, state, adoptable) ?? keepRejected(context, state, adoptable));
  // When Flagger wrote the status last tells what it had seen by then.
  if (head.kind === 'unknown') return { ...quiet(state), leavesStatus: true };
  return adoptable && adoptFromFlagger(context, state, adoptable);
}

function quiet(state: State, ...effects: readonly Effects[]): Outcome {
  return { ...stay(state, ...effects), prefers: NONE };
}

/** The last-known-good under a new name: the API server reads the same template with one more default, or another source tells of it. */
function relabel(context: Context, state: State, { release, isHead }: AdoptableView): Outcome | undefined {
  const { world, good } = context;
  if (!isHead || good?.digest !== world.primary?.digest || rejectionOf(context, release.digest) !== undefined)
    return undefined;
  return quiet(state, adoptPrimary(release), { status: { lastAppliedSpec: release.digest } });
}

/** What Flagger tried on a Canary that was given back to it, and found bad. */
function keepRejected(
  context: Context,
  state: State,
  { isHead, headWasTried }: AdoptableView,
): Outcome | undefined {
  const { phase, canaryWeight = 0 } = context.world.status;
  const { head } = context;
  if (isHead || !headWasTried || !head || phase !== 'Failed' || canaryWeight > 0) return undefined;
  return quiet(state, rejectFailed(context, head));
}

function adoptFromFlagger(context: Context, state: State, adoptable: AdoptableView): Outcome | undefined {
  const { phase = '', canaryWeight = 0 } = context.world.status;
  const isStalled = phase === 'Failed' && canaryWeight > 0;
  if (PROVEN.has(phase) || (phase === 'Failed' && !isStalled)) return adoptPromoted(context, adoptable);
  if (adoptable.isHead) return adoptWritten(context, adoptable.release);
  if (!WRITTEN.has(phase)) return undefined;
  // A newer revision than the promoted one is on the target: the promoted one is what the primary can be brought to.
  if (hasConverged(context.world.primary, context.plan.primaryReadyPercent))
    return adoptPromoted(context, adoptable);
  return waitForPromoted(context, state, adoptable.release);
}

/** Flagger found it good: it is the last-known-good. */
function adoptPromoted(context: Context, { release, isHead, headWasTried }: AdoptableView): Outcome {
  const { head, world } = context;
  const { phase = '' } = world.status;
  const isFailed = phase === 'Failed' && !isHead && headWasTried && head !== undefined;
  // A revision that waits for its gate has not succeeded.
  const stays = phase === 'Initialized' || (phase === 'Waiting' && !isHead);
  const settled = stays ? phase : 'Succeeded';
  const told = combine(
    adoptPrimary(release),
    { status: { lastAppliedSpec: release.digest } },
    say('Normal', 'Adopted', `taken over as Flagger left it: the primary runs ${describeRelease(release)}`),
  );
  const next: State = { kind: 'Resting', phase: isFailed ? 'Failed' : settled, failedChecks: 0 };
  if (isFailed) return quiet(next, told, rejectFailed(context, head));
  if (!head || isHead || !ON_CANARY.has(phase)) return quiet(next, told);
  // Its pods are there and its gate was open: it goes on from weight 0.
  const again = admit(context, head, { keepsPods: true });
  return quiet(again.next, told, { events: again.events ?? [], status: again.status ?? {} });
}

/** What failed under Flagger is not tried again until it changes. */
function rejectFailed(context: Context, head: ReleaseView): Effects {
  const { commit } = head.commit;
  const status = { lastAppliedSpec: head.digest, lastAppliedCommit: commit };
  const rejects =
    rejectionOf(context, head.digest) !== undefined
      ? []
      : [{ digest: head.digest, commit, reason: 'FailedUnderFlagger' as const }];
  return { status, rejects };
}

/**
 * It was written and has not taken over: the first release here, which is good once it has. Where an older one is kept, since Flagger had the
 * Canary only for a while, it is a promotion like any other, and can be gone back from.
 */
function adoptWritten(context: Context, release: ReleaseView): Outcome {
  const { good } = context;
  const told = combine(
    adoptPrimary(release, false),
    { status: { lastAppliedSpec: release.digest } },
    say(
      'Normal',
      'Adopted',
      `taken over as Flagger left it: ${describeRelease(release)} is being rolled out on the primary`,
    ),
  );
  if (!good) return quiet({ kind: 'Initializing', run: undefined, phase: 'Initializing' }, told);
  const run = withProgressReset(context, { ...begin(context, release), keepsPods: true, broughtUp: true });
  const post = { reason: 'Promoting', startTime: context.now };
  return quiet(promotionState(context, { run, failedChecks: 0, iterations: 0, post }), told);
}

/** Until the deadline; then the newer revision goes to the primary, as it would without a proven release (design section 4, bootstrap). */
function waitForPromoted(context: Context, state: State, release: ReleaseView): Outcome | undefined {
  const { primary, status } = context.world;
  const leftMs = remainingMs(context, status.lastTransitionTime, context.plan.progressDeadlineMs);
  if (leftMs === 0) return undefined;
  const what = `Flagger promoted ${describeRelease(release)}, which the primary does not run yet: ${whyNotReady(primary)}`;
  return { ...stay(state, note('PrimaryNotReady', what), wake(leftMs)), prefers: STAY };
}

/** The record first: what the primary is said to run can be had from then on (S10). */
function adoptPrimary({ digest }: ReleaseView, isProven = true): Effects {
  return act({ type: 'SaveRecord', digest }, ...(isProven ? [{ type: 'MarkProven', digest } as const] : []), {
    type: 'AdoptPrimary',
    digest,
  });
}
