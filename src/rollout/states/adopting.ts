import type { CanaryPhase } from '../../api/canary/status.ts';
import { hasConverged, whyNotReady } from '../../health/readiness.ts';
import { type Context, remainingMs, withProgressReset } from '../context.ts';
import { act, combine, type Effects, emit, NONE, note, STAY, wake } from '../outcome.ts';
import { type Outcome, promotionState, type State, stay } from '../state.ts';
import { type AdoptableView, describeRelease, type ReleaseView, rejectionOf } from '../world.ts';
import { admit, begin } from './head.ts';

/** Phases in which the primary runs what Flagger promoted (flagger-behaviour 2.15, 2.16). */
const PROVEN: ReadonlySet<CanaryPhase> = new Set([
  'Initialized',
  'Succeeded',
  'Finalising',
  'Waiting',
  'Progressing',
  'WaitingPromotion',
]);
/** Phases in which the analysed release was written to the primary, which may not be ready with it yet. */
const WRITTEN: ReadonlySet<CanaryPhase> = new Set(['Promoting', 'Failed']);
/** Phases in which the canary's pods were started for this release. */
const ON_CANARY: ReadonlySet<CanaryPhase> = new Set(['Progressing', 'WaitingPromotion']);

/** `leavesStatus`: nothing is known yet, and the status is not written. */
type Adopted = Outcome & { readonly leavesStatus?: true };

/**
 * Adopts a primary that Flagger left, or one that runs head under another digest: its template is not written, so that no pod restarts.
 * What Flagger promoted becomes the last-known-good; what it rejected stays rejected; what it was trying is tried from the start. Undefined
 * if there is nothing to adopt.
 */
export function adopting(context: Context, state: State): Adopted | undefined {
  const { primary, adoptable, status, head } = context.world;
  if (status.run || !primary || (primary.digest !== undefined && !adoptable)) return undefined;
  if (primary.digest !== undefined) return adoptable && adoptKnown(context, state, adoptable);
  // The status, which Flagger wrote last, is left until head can be compared with it.
  if (head.kind === 'unknown') return { ...withoutTraffic(state), leavesStatus: true };
  return adoptable && adoptFromFlagger(context, state, adoptable);
}

/** Stays in its state and moves no traffic. */
function withoutTraffic(state: State, ...effects: readonly Effects[]): Outcome {
  return { ...stay(state, ...effects), prefers: NONE };
}

/** A primary whose release is known: it has a new digest, or Flagger had the Canary for a while and rejected head. */
function adoptKnown(
  context: Context,
  state: State,
  { release, isHead, headWasTried }: AdoptableView,
): Outcome | undefined {
  const { world, good, head } = context;
  const { phase, canaryWeight = 0 } = world.status;
  // The last-known-good has a new digest, as when the API server adds a default to the same template. Its record may be marked before the primary is.
  const isMarked = good?.digest === release.digest;
  const isGood = isMarked || good?.digest === world.primary?.digest;
  if (isHead && isGood && rejectionOf(context, release.digest) === undefined) {
    const { digest } = release;
    const adopted = isMarked ? act({ type: 'AdoptPrimary', digest }) : adoptPrimary(release);
    return withoutTraffic(state, adopted, { status: { lastAppliedSpec: digest } });
  }
  if (isHead || !headWasTried || !head || phase !== 'Failed' || canaryWeight > 0) return undefined;
  return withoutTraffic(state, rejectFailed(context, head));
}

function adoptFromFlagger(context: Context, state: State, adoptable: AdoptableView): Outcome | undefined {
  const { phase = '', canaryWeight = 0 } = context.world.status;
  const isStalled = phase === 'Failed' && canaryWeight > 0;
  if (PROVEN.has(phase) || (phase === 'Failed' && !isStalled)) return adoptPromoted(context, adoptable);
  if (adoptable.isHead) return adoptWritten(context, adoptable.release);
  if (!WRITTEN.has(phase)) return undefined;
  // The target has a newer revision than the promoted one, which the primary is still rolling out.
  const { primary, status } = context.world;
  if (hasConverged(primary, context.plan.primaryReadyPercent)) return adoptPromoted(context, adoptable);
  // After the deadline the newer revision goes to the primary, as it would without a proven release (design section 4, bootstrap).
  const leftMs = remainingMs(context, status.lastTransitionTime, context.plan.progressDeadlineMs);
  if (leftMs === 0) return undefined;
  const message = `Flagger promoted ${describeRelease(adoptable.release)}, which the primary does not run yet: ${whyNotReady(primary)}`;
  return { ...stay(state, note('PrimaryNotReady', message), wake(leftMs)), prefers: STAY };
}

/** Flagger found it good: it is the last-known-good. */
function adoptPromoted(context: Context, { release, isHead, headWasTried }: AdoptableView): Outcome {
  const { head, world } = context;
  const { phase = '' } = world.status;
  const isFailed = phase === 'Failed' && !isHead && headWasTried && head !== undefined;
  // A revision that waits for its gate has not succeeded.
  const stays = phase === 'Initialized' || (phase === 'Waiting' && !isHead);
  const settled = stays ? phase : 'Succeeded';
  const adopted = combine(
    adoptPrimary(release),
    { status: { lastAppliedSpec: release.digest } },
    emit('Normal', 'Adopted', `taken over as Flagger left it: the primary runs ${describeRelease(release)}`),
  );
  const next: State = { kind: 'Resting', phase: isFailed ? 'Failed' : settled, failedChecks: 0 };
  if (isFailed) return withoutTraffic(next, adopted, rejectFailed(context, head));
  if (!head || isHead || !ON_CANARY.has(phase)) return withoutTraffic(next, adopted);
  // Its pods are running and its gate was open: it continues from weight 0.
  const trying = admit(context, head, { keepsPods: true });
  return withoutTraffic(trying.next, adopted, trying);
}

/** A release that failed under Flagger is not tried again until it changes. */
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
 * The release was written to the primary, which is not ready with it yet. It is the first release, which is proven once the primary is ready;
 * if Flagger had the Canary only for a while and an older release is recorded, it is a promotion like any other, and can be reverted.
 */
function adoptWritten(context: Context, release: ReleaseView): Outcome {
  const { good } = context;
  const adopted = combine(
    adoptPrimary(release, false),
    { status: { lastAppliedSpec: release.digest } },
    emit(
      'Normal',
      'Adopted',
      `taken over as Flagger left it: ${describeRelease(release)} is being rolled out on the primary`,
    ),
  );
  if (!good) return withoutTraffic({ kind: 'Initializing', run: undefined, phase: 'Initializing' }, adopted);
  const run = withProgressReset(context, { ...begin(context, release), keepsPods: true, broughtUp: true });
  const post = { reason: 'Promoting', startTime: context.now };
  return withoutTraffic(promotionState(context, { run, failedChecks: 0, iterations: 0, post }), adopted);
}

/** The record is saved first, so that what the primary is marked to run can be restored from then on (S10). */
function adoptPrimary({ digest }: ReleaseView, isProven = true): Effects {
  return act({ type: 'SaveRecord', digest }, ...(isProven ? [{ type: 'MarkProven', digest } as const] : []), {
    type: 'AdoptPrimary',
    digest,
  });
}
