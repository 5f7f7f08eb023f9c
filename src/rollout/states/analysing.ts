import type { Plan } from '../../api/canary/plan.ts';
import { stamp } from '../../api/time.ts';
import { findings, judgeHooks, verdictOf } from '../../health/check-results.ts';
import { causeOf } from '../../health/diagnosis.ts';
import { isReady, whyNotReady } from '../../health/readiness.ts';
import type { WorkloadView } from '../../health/workload-view.ts';
import { check } from '../checks.ts';
import { type Context, elapsedMs, later, remainingMs } from '../context.ts';
import {
  askGates,
  type GateType,
  hasHooks,
  isOpenedByHand,
  noteClosed,
  request,
  requestKeyPrefix,
} from '../hooks.ts';
import {
  ALL,
  act,
  combine,
  type Effects,
  enter,
  note,
  type Outcome,
  type Preference,
  STAY,
  say,
  stall,
  stay,
  wake,
} from '../outcome.ts';
import { settlingMs, sinceProgressMs, withProgress, withProgressReset } from '../progress.ts';
import { isPaused } from '../requests.ts';
import type { Run, Side } from '../run.ts';
import { promotionState, type StateOf, without, withRun } from '../state.ts';
import { fullSize, podsNeeded, readyPods, scalerOf } from '../traffic/capacity.ts';
import { growCanary, keepPrimarySize } from '../traffic/scalers.ts';
import { largestWeight, nextStep, type Step } from '../traffic/weights.ts';
import { describeRelease } from '../world.ts';
import { end, failAtGate, routeNote } from './ending.ts';
import { failOnPrimary } from './hold-or-revert.ts';
import { recreatedPrimary } from './recreate.ts';

type Analysing = StateOf<'Analysing'>;

/** Where the analysis stands, as read back: a step that was left out once is not left out again after a crash. */
export function positionOf(
  { world }: Context,
  { run, iterations }: { readonly run: Run; readonly iterations: number },
): string {
  return `${shareOf(world.route?.canaryWeight ?? 0, run.side)}/${iterations}`;
}

/** The share of the side that is tried, in percent. */
function shareOf(canaryWeight: number, side: Side = 'canary'): number {
  return side === 'primary' ? 100 - canaryWeight : canaryWeight;
}

/**
 * A release is tried by Flagger's rules (flagger-behaviour 2), on the canary or on the primary. Its checks are on their own clock: neither pods
 * that are missing, nor capacity, nor pause keeps them back (issue 11). Only moves wait for those.
 */
export function analysing(context: Context, before: Analysing): Outcome {
  const recreated = before.run.side === 'primary' ? undefined : recreatedPrimary(context);
  if (recreated) return stay(before, recreated);
  if (before.run.restartKey !== context.plan.restartKey) return restart(context, before);
  const look = observe(context, before);
  return notReady(context, look) ?? advance(context, look);
}

/** The side under trial, as a step sees it. */
interface Trial {
  readonly state: Analysing;
  readonly side: Side;
  /** The copy that is tried, and whether it is ready. */
  readonly view: WorkloadView | undefined;
  readonly up: boolean;
  /** Its share, in percent. */
  readonly share: number;
  /** It had neither traffic nor a check. */
  readonly isUntouched: boolean;
}

function observe(context: Context, before: Analysing): Trial {
  const { world } = context;
  const side = before.run.side ?? 'canary';
  const view = side === 'primary' ? world.primary : world.target;
  const seen = withObservedWeight(context, before);
  const state = withRun(seen, withProgress(context, seen.run, view));
  const share = shareOf(world.route?.canaryWeight ?? 0, side);
  const isUntouched = share === 0 && state.iterations === 0 && state.run.checkNumber === 0;
  return { state, side, view, up: isUp(context, state, view), share, isUntouched };
}

/** Why there is nothing to check or move yet. */
function notReady(
  context: Context,
  { state, side, view, up, share, isUntouched }: Trial,
): Outcome | undefined {
  const { route } = context.world;
  const name = describeRelease(state.run);
  if (!route) return stay(state, note('Progressing', `${name} continues once its route exists again`));
  const late = up ? undefined : failLate(context, state, view);
  if (late) return late;
  const waits = up ? {} : waitForPods(context, state, view);
  if (!up && isUntouched) return stay(state, waits);
  const settleMs = share === 0 ? settlingMs(context, state.run, side) : 0;
  if (settleMs > 0)
    return stay(
      state,
      note('Progressing', `the ${side} with ${name} is ready; traffic is shifted next`),
      wake(settleMs),
    );
  if (!route.accepted) return stay(state, waits, routeNote(context, state.run));
  if (!isBeyondSteps(context, share)) return undefined;
  return returnTraffic(
    state,
    note('Progressing', `${name} has more traffic than its steps allow; they start over`),
  );
}

/** Checks count from the moment the gateway had taken a share over, not from when it was ordered, and one that passed at another share no more (S4). */
function withObservedWeight({ world, now }: Context, state: Analysing): Analysing {
  const { route } = world;
  const { run } = state;
  const share = route?.accepted ? shareOf(route.canaryWeight, run.side) : undefined;
  if (share === undefined || share === run.weight) return state;
  return { ...state, run: { ...without(run, 'asksGates'), weight: share, stepTime: now } };
}

/** The side that is tried is ready; where both sides are pods of one workload, it has none before its first share. */
function isUp({ world, plan }: Context, { run }: Analysing, view: WorkloadView | undefined): boolean {
  if (world.sharesWorkload && world.route?.canaryWeight === 0) return view?.observed === true;
  return isReady(view, run.side === 'primary' ? plan.primaryReadyPercent : plan.canaryReadyPercent);
}

/** Without progress for the whole deadline, or given up by its controller, it failed. */
function failLate(context: Context, state: Analysing, view: WorkloadView | undefined): Outcome | undefined {
  const { progressDeadlineMs } = context.plan;
  if (sinceProgressMs(context, state.run) < progressDeadlineMs && !view?.progressDeadlineExceeded)
    return undefined;
  const message = `the ${state.run.side ?? 'canary'} did not become ready in ${progressDeadlineMs / 1000} s: ${whyNotReady(view)}`;
  const [worst] = view?.faults ?? [];
  const cause = worst && causeOf(worst, []);
  return fail(context, state, { reason: 'ProgressDeadlineExceeded', message, cause }, {});
}

/** The release failed where it is tried. `told`: the events of the check that failed. */
function fail(
  context: Context,
  state: Analysing,
  { reason, message, cause }: Failure,
  told: Effects,
): Outcome {
  const { status = {}, events = [] } = told;
  const why = cause === undefined ? {} : { cause };
  if (state.run.side !== 'primary')
    return end(
      context,
      state,
      { phase: 'Failed', reason, message, reject: reason, ...why },
      { status, events },
    );
  const failed = failOnPrimary(context, state, { reason, finding: message, control: false, ...why });
  return {
    ...failed,
    status: { ...failed.status, ...status },
    events: [...events, ...(failed.events ?? [])],
  };
}

function waitForPods(context: Context, { run }: Analysing, view: WorkloadView | undefined): Effects {
  const { world, plan } = context;
  const side = run.side ?? 'canary';
  const grown = side === 'canary' && view?.desiredReplicas === 0 ? growCanary(world, fullSize(world)) : [];
  const weight = shareOf(world.route?.canaryWeight ?? 0, side);
  return combine(
    act(...grown),
    note('CanaryNotReady', `waiting for the ${side} at ${weight} %: ${whyNotReady(view)}`),
    wake(plan.progressDeadlineMs - sinceProgressMs(context, run)),
  );
}

/** More traffic than any step allows, as after a failure of the primary or a change by hand (S3): the steps start over. */
function isBeyondSteps(context: Context, share: number): boolean {
  return (
    share > largestWeight(context.plan) && isReady(context.world.primary, context.plan.primaryReadyPercent)
  );
}

/** All traffic goes back to the side that is not tried. */
function returnTraffic(state: Analysing, words: Effects): Outcome {
  return { ...stay(state, words), prefers: state.run.side === 'primary' ? ALL.canary : ALL.primary };
}

function restart(context: Context, state: Analysing): Outcome {
  const { run } = state;
  const words = note('AnalysisRestarted', `${describeRelease(run)} restarts its analysis`);
  const { route } = context.world;
  if (shareOf(route?.canaryWeight ?? 0, run.side) > 0 || route?.mirrored) return returnTraffic(state, words);
  const begun = {
    ...without(run, 'asksGates', 'closedGate'),
    restartKey: context.plan.restartKey,
    startTime: context.now,
    checkNumber: 0,
  };
  return stay(
    { ...state, isGateClosed: false, run: begun, iterations: 0, failedChecks: 0 },
    say('Normal', 'AnalysisRestarted', 'steps, strategy, metrics or match changed: the analysis restarts'),
    words,
  );
}

/** One step of the analysis: the check at this share, then room for the next one, its gates, and the move (design section 4, analyse). */
function advance(context: Context, look: Trial): Outcome {
  const { plan } = context;
  const { state, share, up } = look;
  const { run, iterations } = state;
  const straight = plan.skipAnalysis || run.fastLane || run.promoteNow;
  if (straight && up && !isPaused(context, run)) return promote(context, state);
  const next = nextStep(planFor(plan, run), { canaryWeight: share, iterations });
  const move = limitStep(context, next, share, run);
  const held = act(...keepPrimarySize(context));
  const kept = blockedBy(context, look, move);
  if (!kept && isChecked(context, state)) return throughGates(context, state, move, held);
  const asked = look.isUntouched ? preRollout(context, state) : stepCheck(context, state, share);
  if (asked.failure) return fail(context, asked.state, asked.failure, asked.effects);
  const told = combine(held, asked.effects);
  if (kept) return stay(asked.passed ? withRun(asked.state, { asksGates: true }) : asked.state, told, kept);
  return asked.passed ? throughGates(context, asked.state, move, told) : stay(asked.state, told);
}

/** The check at this step passed, or a person left it out. */
function isChecked(context: Context, state: Analysing): boolean {
  const { run } = state;
  return (
    run.asksGates === true || isOpenedByHand(context, run) || run.skipStepAt === positionOf(context, state)
  );
}

/** What keeps a release at its step although its check passed; the checks go on meanwhile. */
function blockedBy(context: Context, { state, share, up, view }: Trial, move: Step): Effects | undefined {
  if (isPaused(context, state.run))
    return note('Paused', `paused at ${share} % by annotation holdfast.dev/pause; remove it to continue`);
  if (move.kind === 'stuck')
    return stall('StepsDoNotAdvance', `spec.analysis has no step beyond ${share} %; change stepWeight`);
  return up ? lackOfCapacity(context, state, move) : waitForPods(context, state, view);
}

/** On the primary no match and no mirror leads to it: such a release is tried there as blue/green. */
function planFor(plan: Plan, { side }: Run): Plan {
  const { strategy } = plan;
  if (side !== 'primary' || strategy.kind === 'canary') return plan;
  const shiftsTraffic = strategy.kind === 'ab' || strategy.shiftsTraffic;
  return {
    ...plan,
    strategy: { kind: 'blueGreen', iterations: strategy.iterations, mirror: false, shiftsTraffic },
  };
}

/** Where a scaler lets the tried side have too few pods for the next share, the share rises as far as they carry; then that was the last. */
function limitStep(context: Context, move: Step, share: number, { side = 'canary' }: Run): Step {
  const { world, plan } = context;
  const scaler = scalerOf(world, side);
  if (!scaler || (move.kind !== 'weight' && move.kind !== 'iterate') || plan.strategy.kind === 'ab')
    return move;
  const carried = fullSize(world);
  const reach = scaler.maxReplicas >= carried ? 100 : Math.floor((scaler.maxReplicas * 100) / carried);
  if (move.canaryWeight <= reach || reach < 1) return move;
  return move.kind === 'weight' && reach > share
    ? { kind: 'weight', canaryWeight: reach }
    : { kind: 'promote' };
}

/** Nothing rises before its pods are there (S4). */
function lackOfCapacity(context: Context, { run }: Analysing, move: Step): Effects | undefined {
  const { world, plan } = context;
  const side = run.side ?? 'canary';
  const asked = move.kind === 'weight' || move.kind === 'iterate' ? move.canaryWeight : 0;
  const share = plan.strategy.kind === 'ab' ? Math.min(1, asked) : asked;
  const needed = podsNeeded(context, side, share);
  if (share === 0 || world.sharesWorkload || readyPods(context, side) >= needed) return undefined;
  const grown = side === 'canary' ? growCanary(world, needed) : [];
  const ready = readyPods(context, side);
  const words = note('WaitingForCapacity', `the ${side} has ${ready} ready pods, too few for ${share} %`);
  return combine(act(...grown), words);
}

/** What a check gave; with `failure` the release failed by it. */
interface Checked {
  readonly state: Analysing;
  readonly passed: boolean;
  readonly effects: Effects;
  readonly failure?: Failure;
}

/** Why a release failed its analysis. */
interface Failure {
  readonly reason: 'ProgressDeadlineExceeded' | 'AnalysisFailed' | 'NoData';
  readonly message: string;
  /** By the table of causes. */
  readonly cause?: string | undefined;
}

/** The check at this step. */
function stepCheck(context: Context, state: Analysing, share: number): Checked {
  const { plan } = context;
  const { run } = state;
  const where = plan.strategy.kind === 'canary' ? `at ${share} %` : `iteration ${state.iterations}`;
  const words = combine(
    note('Progressing', `${describeRelease(run)} ${where}, analysis every ${plan.intervalMs / 1000} s`),
    run.closedGate ? noteClosed(run.closedGate, `${describeRelease(run)} ${where}`) : {},
  );
  const lookBackMs = remainingMs(context, run.stepTime, plan.lookBackMs);
  if (lookBackMs > 0) return { state, passed: false, effects: combine(words, wake(lookBackMs)) };
  const asked = check(context, run, {
    role: run.side ?? 'canary',
    purpose: 'analysis',
    metrics: plan.metrics,
    hooks: 'rollout',
    since: later(run.stepTime, run.lastCheckTime),
    afterMs: plan.intervalMs,
  });
  const next = withRun(state, asked.run);
  if (asked.waits) return { state: next, passed: false, effects: combine(words, asked.waits) };
  const told = combine(words, { status: { checks: [...asked.results] } });
  const verdict = verdictOf(asked.results);
  if (verdict === 'pass')
    return { state: { ...next, run: without(next.run, 'unknownSince') }, passed: true, effects: told };
  const found = `${where}: ${findings(asked.results)}`;
  const effects = combine(told, wake(plan.intervalMs));
  return verdict === 'fail'
    ? countFailure(context, next, found, effects)
    : withoutResult(context, next, found, effects);
}

/** A check that counts neither way is asked again, until the deadline (S29; issue 11, 14). */
function withoutResult(context: Context, before: Analysing, found: string, effects: Effects): Checked {
  const { progressDeadlineMs } = context.plan;
  const unknownSince = before.run.unknownSince ?? context.now;
  const state = { ...before, run: { ...without(before.run, 'asksGates'), unknownSince } };
  if (elapsedMs(context, unknownSince) < progressDeadlineMs) {
    const told = say('Warning', 'NoData', `inconclusive check ${found}`);
    return { state, passed: false, effects: combine(effects, told) };
  }
  const message = `${describeRelease(state.run)} had no conclusive check for ${progressDeadlineMs / 1000} s, ${found}`;
  return { state, passed: false, effects, failure: { reason: 'NoData', message } };
}

/** Failed checks add up over the run; the one that reaches the threshold fails the release. */
function countFailure({ plan }: Context, before: Analysing, found: string, effects: Effects): Checked {
  const failedChecks = before.failedChecks + 1;
  const state = { ...before, failedChecks, run: without(before.run, 'unknownSince', 'asksGates') };
  const words = `failed check ${failedChecks} of ${plan.threshold} ${found}`;
  const told = combine(effects, say('Warning', 'CheckFailed', words), note('CheckFailed', words));
  if (failedChecks < plan.threshold) return { state, passed: false, effects: told };
  const message = `${describeRelease(state.run)} failed its analysis ${found}`;
  return { state, passed: false, effects: told, failure: { reason: 'AnalysisFailed', message } };
}

/** Webhooks of type pre-rollout, before any traffic: asked until they approved once for this release; each no is a failed check. */
function preRollout(context: Context, state: Analysing): Checked {
  const { world, plan } = context;
  const { run, failedChecks } = state;
  if (run.preRolloutTime !== undefined || !hasHooks(context, 'pre-rollout'))
    return { state, passed: true, effects: {} };
  const key = `${requestKeyPrefix(run)}/pre-rollout/${failedChecks}`;
  const words = note('Progressing', `${describeRelease(run)} waits for its pre-rollout webhooks`);
  if (world.checks?.key !== key) {
    const leftMs = failedChecks > 0 ? remainingMs(context, run.lastCheckTime, plan.intervalMs) : 0;
    if (leftMs > 0) return { state, passed: false, effects: combine(words, wake(leftMs)) };
    const asked = request(context, run, { key, role: 'canary', purpose: 'analysis', hooks: ['pre-rollout'] });
    return { state, passed: false, effects: { ...words, check: asked } };
  }
  const results = judgeHooks(context.world.canary, world.checks, 'pre-rollout', 'analysis');
  const known = { status: { checks: results } };
  const lastCheckTime = stamp(world.checks.atMs);
  if (verdictOf(results) === 'pass') {
    const told = say('Normal', 'PreRolloutPassed', 'pre-rollout webhooks approved');
    return {
      state: withRun(state, { lastCheckTime, preRolloutTime: context.now }),
      passed: true,
      effects: combine(words, known, told),
    };
  }
  const again = wake(remainingMs(context, lastCheckTime, plan.intervalMs));
  return countFailure(
    context,
    withRun(state, { lastCheckTime }),
    `before any traffic: ${findings(results)}`,
    combine(words, known, again),
  );
}

/** The gates between a passed check and its move. A closed one leaves share, iterations and failed checks as they are (2.19, 8). */
function throughGates(context: Context, state: Analysing, move: Step, effects: Effects): Outcome {
  const gate = askGates(context, state.run, gatesBefore(context, state, move));
  const told = combine(effects, gate.effects);
  if (gate.kind === 'asking') {
    const run = { ...gate.run, asksGates: true };
    const words = run.closedGate
      ? noteClosed(run.closedGate, describeRelease(run))
      : note('Progressing', `${describeRelease(run)} passed; asking the gates before the next step`);
    return stay({ ...state, run }, told, words);
  }
  const run = without(gate.run, 'asksGates', 'skipStepAt');
  if (gate.kind === 'open') return takeStep(context, { ...state, isGateClosed: false, run }, move, told);
  if (gate.overdue) return failAtGate(context, { ...state, run }, gate.gate);
  const isGateClosed = state.isGateClosed || gate.gate.type === 'confirm-promotion';
  return stay({ ...state, run, isGateClosed }, told, noteClosed(gate.gate, describeRelease(run)));
}

/** As in Flagger: each step of the weight, the one to promotion included; promotion; and blue/green before all traffic moves. */
function gatesBefore({ plan }: Context, { isGateClosed }: Analysing, move: Step): readonly GateType[] {
  const { kind } = plan.strategy;
  if (move.kind === 'weight') return ['confirm-traffic-increase'];
  if (move.kind === 'iterate')
    return kind === 'blueGreen' && move.canaryWeight === 100 ? ['confirm-promotion'] : [];
  if (move.kind !== 'promote') return [];
  const rises = kind === 'canary' && !isGateClosed;
  return rises ? ['confirm-traffic-increase', 'confirm-promotion'] : ['confirm-promotion'];
}

function takeStep(context: Context, state: Analysing, move: Step, effects: Effects): Outcome {
  const { plan, world } = context;
  const { run } = state;
  if (move.kind === 'promote') return promote(context, state, effects);
  if (move.kind === 'stuck') return stay(state, effects);
  const side = run.side ?? 'canary';
  const again = wake(plan.intervalMs);
  if (move.kind === 'weight') {
    const before = shareOf(world.route?.canaryWeight ?? 0, side);
    const told = say('Normal', 'WeightAdvanced', `${side} weight ${before} % -> ${move.canaryWeight} %`);
    const words = note('Progressing', `${describeRelease(run)} goes to ${move.canaryWeight} %`);
    return {
      ...stay(state, effects, told, words, again),
      prefers: { kind: 'share', side, percent: move.canaryWeight },
    };
  }
  const { iterations, canaryWeight: percent, mirrored } = move;
  const takes =
    percent > 0 || shareOf(world.route?.canaryWeight ?? 0, side) > 0 ? ', canary takes traffic' : '';
  const told = say('Normal', 'IterationAdvanced', `iteration ${iterations}${takes}`);
  const words = note('Progressing', `${describeRelease(run)} iteration ${iterations}`);
  const next = { ...state, iterations, run: { ...run, stepTime: context.now } };
  const prefers: Preference = { kind: 'share', side, percent, mirrored: mirrored && side === 'canary' };
  return { ...stay(next, effects, told, words, again), prefers };
}

/** The analysis passed: the primary is to run this release. Intent is written before the first write to it. */
export function promote(context: Context, { run, iterations }: Analysing, effects: Effects = {}): Outcome {
  const begun = without(withProgressReset(context, run), 'stepTime', 'promoteNow');
  const post = { reason: 'Promoting', startTime: context.now };
  const next = promotionState(context, { run: begun, failedChecks: 0, iterations, post });
  const words = run.side === 'primary' ? 'moving all traffic to the primary' : 'writing it to the primary';
  const { events = [], status = {} } = effects;
  const told = say('Normal', 'Promoting', `${describeRelease(run)} passed; ${words}`);
  return enter(next, { status, events: [...events, ...(told.events ?? [])] });
}

/**
 * Traffic of a release that is tried stays at its step. In place the step is reached by several writes, and what somebody changed of it
 * meanwhile is written again.
 */
export function analysingPrefers({ world }: Context): Preference {
  const percent = world.route?.canaryWeight ?? 0;
  return world.sharesWorkload && percent > 0 ? { kind: 'share', side: 'canary', percent } : STAY;
}
