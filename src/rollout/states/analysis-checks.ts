/** The checks of an analysis: pre-rollout webhooks before any traffic, then metrics and webhooks at each step. */
import { stamp } from '../../api/time.ts';
import { findings, judgeHooks, verdictOf } from '../../health/check-results.ts';
import { check, hasHooks, noteClosed, request, requestKeyPrefix } from '../checks.ts';
import { type Context, elapsedMs, later, remainingMs } from '../context.ts';
import { combine, type Effects, emit, note, wake } from '../outcome.ts';
import { type StateOf, without, withRun } from '../state.ts';
import { describeRelease } from '../world.ts';

type Analysing = StateOf<'Analysing'>;

/** The result of a check; with `failure` the release failed. */
interface Checked {
  readonly state: Analysing;
  readonly passed: boolean;
  readonly effects: Effects;
  readonly failure?: Failure;
}

/** Why a release failed its analysis. */
export interface Failure {
  readonly reason: 'ProgressDeadlineExceeded' | 'AnalysisFailed' | 'NoData';
  readonly message: string;
  /** By the table of causes. */
  readonly cause?: string | undefined;
}

function placeOf({ plan }: Context, { iterations }: Analysing, share: number): string {
  return plan.strategy.kind === 'canary' ? `at ${share} %` : `at iteration ${iterations}`;
}

/** The status line between two checks. An iteration begins with it, too: the status is not written once more for other words. */
export function stepNote(context: Context, state: Analysing, share: number): Effects {
  const { run } = state;
  const intervalSeconds = context.plan.intervalMs / 1000;
  const where = `${describeRelease(run)} ${placeOf(context, state, share)}`;
  return combine(
    note('Progressing', `${where}, analysis every ${intervalSeconds} s`),
    run.closedGate ? noteClosed(run.closedGate, where) : {},
  );
}

/** The check at this step. */
export function stepCheck(context: Context, state: Analysing, share: number): Checked {
  const { plan } = context;
  const { run } = state;
  const where = placeOf(context, state, share);
  const statusNote = stepNote(context, state, share);
  const lookBackMs = remainingMs(context, run.stepTime, plan.lookBackMs);
  if (lookBackMs > 0) return { state, passed: false, effects: combine(statusNote, wake(lookBackMs)) };
  const asked = check(context, run, {
    role: run.side ?? 'canary',
    purpose: 'analysis',
    metrics: plan.metrics,
    hooks: 'rollout',
    since: later(run.stepTime, run.lastCheckTime),
    afterMs: plan.intervalMs,
  });
  const next = withRun(state, asked.run);
  if (asked.waits) return { state: next, passed: false, effects: combine(statusNote, asked.waits) };
  const checked = combine(statusNote, { status: { checks: [...asked.results] } });
  const verdict = verdictOf(asked.results);
  if (verdict === 'pass')
    return { state: { ...next, run: without(next.run, 'unknownSince') }, passed: true, effects: checked };
  const found = `${where}: ${findings(asked.results)}`;
  const effects = combine(checked, wake(plan.intervalMs));
  return verdict === 'fail'
    ? countFailure(context, next, found, effects)
    : withoutResult(context, next, found, effects);
}

/** An inconclusive check is repeated until the deadline (S29; issue 11, 14). */
function withoutResult(context: Context, before: Analysing, found: string, effects: Effects): Checked {
  const { progressDeadlineMs } = context.plan;
  const unknownSince = before.run.unknownSince ?? context.now;
  const state = { ...before, run: { ...without(before.run, 'asksGates'), unknownSince } };
  if (elapsedMs(context, unknownSince) < progressDeadlineMs) {
    const event = emit('Warning', 'NoData', `inconclusive check ${found}`);
    return { state, passed: false, effects: combine(effects, event) };
  }
  const message = `${describeRelease(state.run)} had no conclusive check for ${progressDeadlineMs / 1000} s, ${found}`;
  return { state, passed: false, effects, failure: { reason: 'NoData', message } };
}

/** Failed checks add up over the run; the one that reaches the threshold fails the release. */
function countFailure({ plan }: Context, before: Analysing, found: string, effects: Effects): Checked {
  const failedChecks = before.failedChecks + 1;
  const state = { ...before, failedChecks, run: without(before.run, 'unknownSince', 'asksGates') };
  const line = `failed check ${failedChecks} of ${plan.threshold} ${found}`;
  const reported = combine(effects, emit('Warning', 'CheckFailed', line), note('CheckFailed', line));
  if (failedChecks < plan.threshold) return { state, passed: false, effects: reported };
  const message = `${describeRelease(state.run)} failed its analysis ${found}`;
  return { state, passed: false, effects: reported, failure: { reason: 'AnalysisFailed', message } };
}

/** Webhooks of type pre-rollout, before any traffic: asked until they approved once for this release; each refusal is a failed check. */
export function preRollout(context: Context, state: Analysing): Checked {
  const { world, plan } = context;
  const { run, failedChecks } = state;
  if (run.preRolloutTime !== undefined || !hasHooks(context, 'pre-rollout'))
    return { state, passed: true, effects: {} };
  const key = `${requestKeyPrefix(run)}/pre-rollout/${failedChecks}`;
  const statusNote = note('Progressing', `${describeRelease(run)} waits for its pre-rollout webhooks`);
  if (world.checks?.key !== key) {
    const leftMs = failedChecks > 0 ? remainingMs(context, run.lastCheckTime, plan.intervalMs) : 0;
    if (leftMs > 0) return { state, passed: false, effects: combine(statusNote, wake(leftMs)) };
    const asked = request(context, run, { key, role: 'canary', purpose: 'analysis', hooks: ['pre-rollout'] });
    return { state, passed: false, effects: { ...statusNote, check: asked } };
  }
  const results = judgeHooks(context.world.canary, world.checks, 'pre-rollout', 'analysis');
  const checked = combine(statusNote, { status: { checks: results } });
  const lastCheckTime = stamp(world.checks.atMs);
  if (verdictOf(results) === 'pass') {
    const event = emit('Normal', 'PreRolloutPassed', 'pre-rollout webhooks approved');
    return {
      state: withRun(state, { lastCheckTime, preRolloutTime: context.now }),
      passed: true,
      effects: combine(checked, event),
    };
  }
  const again = wake(remainingMs(context, lastCheckTime, plan.intervalMs));
  return countFailure(
    context,
    withRun(state, { lastCheckTime }),
    `before any traffic: ${findings(results)}`,
    combine(checked, again),
  );
}
