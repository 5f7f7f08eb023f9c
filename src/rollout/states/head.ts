/** What a commit in Git leads to: a release begins, or takes the place of another one, or ends it (design section 5). */

import type { CanaryStatus } from '../../api/canary/status.ts';
import { gitPart } from '../../api/commit.ts';
import { conditionOf } from '../../api/kubernetes.ts';
import { knownReason } from '../../api/reasons.ts';
import { stamp } from '../../api/time.ts';
import { canaryServes, servingPods } from '../../health/workload-view.ts';
import { hasHooks } from '../checks.ts';
import { type Context, SETTLE_MS, sinceProgressMs, withLastChanges, withProgress } from '../context.ts';
import { act, combine, type Effects, emit, type Next, note, stall, wake } from '../outcome.ts';
import {
  enter,
  type HeadRule,
  type Outcome,
  type RunState,
  type StateOf,
  trialState,
  without,
  withRun,
} from '../state.ts';
import { canaryMayServe, hasArrived, isAllOn, routeNote } from '../traffic/traffic.ts';
import { headForRun, untilWindowOpens, windowWaitMs } from '../windows.ts';
import {
  describeRelease,
  type ReleaseView,
  type Run,
  rejectionOf,
  type Side,
  soundRecord,
} from '../world.ts';
import { end, failOnPrimary, isOnPrimary, startRevert } from './transitions.ts';

/** What follows from head in a state with this rule; undefined: nothing. */
export function followHead(context: Context, state: RunState, rule: HeadRule): Outcome | undefined {
  const { good } = context;
  const { run } = state;
  const head = headForRun(context, run);
  if (!head || head.digest === run.digest || rule === 'ownRule') return undefined;
  if ((isOnPrimary(context, run) || rule === 'takesBack') && good && isBackAt(good, head, run)) {
    const finding = `Git went back to ${describeRelease(head)}`;
    const headCommit = head.commit.commit;
    const cause = { reason: 'RevertedInGit', finding, reject: false, control: false, headCommit } as const;
    return startRevert(context, state, good, cause);
  }
  if (rule === 'takesBack') return undefined;
  const side = run.side ? { side: run.side } : {};
  return endedByGit(context, state, head) ?? admit(context, head, { before: run, ...side });
}

/** Git has the last-known-good again, maybe with config outside Git that has changed since; that is tried after the revert. */
function isBackAt(
  good: { readonly digest: string },
  head: { readonly digest: string },
  run: { readonly digest: string },
): boolean {
  const [ofGood, ofHead, ofRun] = [good, head, run].map(({ digest }) => gitPart(digest));
  return head.digest === good.digest || (ofHead === ofGood && ofRun !== ofGood);
}

/** Before the first write to the primary: head went back to the last-known-good, or on to a release that was rejected. */
export function endedByGit(context: Context, before: RunState, head: ReleaseView): Outcome | undefined {
  const { run, failedChecks, iterations } = before;
  const state: RunState =
    before.kind === 'Analysing' ? before : { kind: 'Starting', run, failedChecks, iterations };
  if (head.digest === context.good?.digest) {
    const message = `${describeRelease(head)} is the last-known-good: the rollout is cancelled`;
    const { commit } = head.commit;
    const status = { lastAppliedCommit: commit, lastPromotedCommit: commit };
    return end(context, state, { phase: 'Succeeded', reason: 'RevertedInGit', message }, { status });
  }
  if (!rejectionOf(context, head.digest)) return undefined;
  const message = `Git moved on to ${describeRelease(head)}, which was rejected before`;
  return isOnPrimary(context, run)
    ? failOnPrimary(context, before, { reason: 'Rejected', finding: message, control: false }, false)
    : end(context, state, { phase: 'Failed', reason: 'Rejected', message });
}

/** A newer revision in Git that may be rolled out; also during a rollback that does not come to its end, but not the one that it is from. */
export function newerRevision(context: Context, state: RunState): ReleaseView | undefined {
  const { run } = state;
  const head = headForRun(context, without(run, 'rollback'));
  // Git left it for a rejected release before it was written to the primary, and asks for it again.
  const wasLeft = state.kind === 'Held' && state.reason === 'Rejected' && isOnPrimary(context, run);
  const isUntried = wasLeft && context.world.primary?.digest !== run.digest;
  const known = [isUntried ? undefined : run.digest, run.rollback?.digest, context.good?.digest];
  if (!head || known.includes(head.digest)) return undefined;
  return rejectionOf(context, head.digest) !== undefined ? undefined : head;
}

/** Where a release is tried that does not wait for the last-known-good; with `waits` it is not tried yet. */
export interface PlaceToTry<S extends RunState = StateOf<'Held' | 'RevertFailed'>> {
  readonly state: S;
  readonly side: Side;
  readonly waits?: Effects | undefined;
  readonly next?: Next | undefined;
}

/**
 * On the primary while the canary serves alone; else on the canary, while the primary serves as far as it can: also if the canary did not get
 * the pods for all traffic before the deadline.
 */
export function sideToTry<S extends StateOf<'Held' | 'RevertFailed'>>(
  context: Context,
  before: S,
): PlaceToTry<S> {
  const { world, plan } = context;
  const isCanaryServing = canaryServes(world.target) && canaryMayServe(context, before.run);
  const standsIn = isCanaryServing && hasArrived(context, before.run, 'canary');
  const state = withRun(before, withProgress(context, before.run, world.target));
  const side = standsIn || servingPods(world.primary) === 0 ? 'primary' : 'canary';
  const leftMs = plan.progressDeadlineMs - sinceProgressMs(context, state.run);
  if (!isCanaryServing || standsIn || (!isAllOn(context, 'canary') && leftMs <= 0)) return { state, side };
  const next = {
    action: 'it is tried once the canary carries all traffic, or without that',
    timeMs: leftMs > 0 ? world.nowMs + leftMs : undefined,
  };
  return { state, side, next, waits: combine(routeNote(context, state.run), wake(leftMs)) };
}

/** Bookkeeping of a release that begins now. */
export function begin({ plan, now }: Context, release: ReleaseView): Run {
  return {
    digest: release.digest,
    commit: release.commit.commit,
    subject: release.commit.subject,
    startTime: now,
    restartKey: plan.restartKey,
    mountsConfig: release.mountsConfig,
    fastLane: false,
    checkNumber: 0,
  };
}

/** How a release begins, if it does not begin on the canary because of a commit. */
interface Admission {
  /** The release at head when a person asked for this older one. */
  readonly rollback?: Run['rollback'];
  readonly side?: Side;
  /** Flagger left its pods running. */
  readonly keepsPods?: boolean;
  /** The release whose place it takes; absent: the Canary was at rest. */
  readonly before?: Run;
}

/**
 * Starts the rollout of a release on the canary, or on the primary if the canary has to serve. Only bookkeeping: the first write comes with
 * the next state (design section 4, admit). With gates of type confirm-rollout, or a closed window, it waits first, in the phase before
 * until they have answered, as in Flagger; a rollback that a person asked for does not wait.
 */
export function admit(context: Context, release: ReleaseView, how: Admission = {}): Outcome {
  const { world, good } = context;
  const { rollback, side, keepsPods, before } = how;
  const isProven = soundRecord(world, release.digest)?.promotedTime !== undefined;
  const begun: Run = {
    ...begin(context, release),
    standing: before?.standing ?? settledRoute(context),
    fastLane: isProven && good?.digest !== release.digest,
    ...(rollback ? { rollback } : {}),
    ...(side === 'primary' ? { side } : {}),
    ...(keepsPods ? { keepsPods } : {}),
  };
  const isWindowClosed = !rollback && !keepsPods && windowWaitMs(context, begun, begun) > 0;
  const awaitsConfirmation = !rollback && !keepsPods && hasHooks(context, 'confirm-rollout');
  // It starts when window and gates are open at the same time.
  const awaitsWindow = isWindowClosed || (awaitsConfirmation && world.window !== undefined);
  const run: Run = {
    ...begun,
    ...(awaitsConfirmation ? { awaitsConfirmation } : {}),
    ...(awaitsWindow ? { awaitsWindow } : {}),
  };
  const base = { run, failedChecks: 0, iterations: 0 };
  const next =
    awaitsConfirmation || awaitsWindow
      ? ({ ...base, kind: 'Waiting', phase: world.status.phase } as const)
      : trialState(context, base);
  const waitsFor = [
    ...(isWindowClosed ? untilWindowOpens(context) : []),
    ...(awaitsConfirmation ? ['confirm-rollout is open'] : []),
  ];
  return enter(next, {
    ...admissionEvents(context, run, waitsFor),
    status: { lastAppliedSpec: release.digest, lastAppliedCommit: release.commit.commit, checks: [] },
  });
}

function admissionEvents({ good }: Context, run: Run, waitsFor: readonly string[]): Effects {
  const name = describeRelease(run);
  const isSameInGit = good !== undefined && gitPart(good.digest) === gitPart(run.digest);
  const what = isSameInGit ? 'New config outside Git for' : 'New revision';
  const mode = run.fastLane ? 'a proven release, analysis is skipped' : 'starting its rollout';
  const condition = waitsFor.length > 0 ? `, once ${waitsFor.join(' and ')}` : '';
  const onPrimary = `${name} is tried on the primary while the canary serves: the last-known-good is not available`;
  return combine(
    emit('Normal', 'NewRevision', `${what} ${name}: ${mode}${condition}`),
    run.side === 'primary' ? emit('Warning', 'ThroughThePrimary', onPrimary) : {},
  );
}

/** At rest the route has not changed for a long time. */
function settledRoute(context: Context): NonNullable<Run['standing']> {
  const { standing = {} } = withLastChanges(context, { standing: {} } as Run);
  const since = stamp(context.world.nowMs - SETTLE_MS);
  return standing.route ? { route: { key: standing.route.key, since } } : {};
}

/** Reasons that only another commit ends. */
const REFUSED: ReadonlySet<string> = new Set(['RecordTooLarge', 'InvalidManifests']);

/** Git holds no such workload, or cannot be read. Until it was read once after a start, the status keeps its message. */
export function withoutHead({ world: { head, status } }: Context): Effects {
  if (head.kind === 'release') return {};
  if (head.kind === 'missing') return stall('TargetMissing', head.message);
  const kept = keptNote(status, status.next && { action: status.next.action });
  if (head.reason === 'SourceNotRead' && kept.note) return kept;
  const reason = knownReason(head.reason, 'Unknown');
  return REFUSED.has(reason) ? stall(reason, head.message) : note(reason, head.message);
}

/** Of this release and of what the primary runs, those without a record that can be used: before the primary is written both must have one (S10). */
export function missingRecords({ world }: Context, run: Run): string[] {
  return [run.digest, world.primary?.digest]
    .filter((digest) => digest !== undefined)
    .filter((digest) => !soundRecord(world, digest));
}

/** Saves records of these releases. Just after a start of Holdfast their bytes come with the first look at Git. */
export function saveRecords({ world: { head } }: Context, run: Run, digests: readonly string[]): Effects {
  if (head.kind === 'unknown' && head.reason === 'SourceNotRead')
    return note('SavingRecord', `${describeRelease(run)} waits for its record: ${head.message}`);
  return act(...digests.map((digest) => ({ type: 'SaveRecord', digest }) as const));
}

/** The status line from before, if there was one. */
export function keptNote(status: CanaryStatus, next?: Next): Effects {
  const { message } = status;
  const ready = conditionOf(status, 'Ready');
  return ready && message !== undefined ? note(knownReason(ready.reason, 'Unknown'), message, next) : {};
}
