import type { Plan } from '../../api/canary/plan.ts';
import { causeOf } from '../../health/diagnosis.ts';
import { isReady, whyNotReady } from '../../health/readiness.ts';
import { canaryServes, servingPods, type WorkloadView } from '../../health/workload-view.ts';
import { askGates, type GateType, hasHooks, isOpenedByHand, noteClosed } from '../checks.ts';
import {
  type Context,
  elapsedMs,
  settlingMs,
  sinceProgressMs,
  withProgress,
  withProgressReset,
} from '../context.ts';
import { ALL, act, combine, type Effects, emit, note, type Preference, stall, wake } from '../outcome.ts';
import { enter, type Outcome, promotionState, type StateOf, stay, without, withRun } from '../state.ts';
import {
  fullSize,
  growCanary,
  missingPods,
  otherBackendsServe,
  podsNeeded,
  raiseMinReplicas,
  readyPods,
  routeNote,
  shareOf,
} from '../traffic/traffic.ts';
import {
  isMirroredIteration,
  largestWeight,
  nextStep,
  type Step,
  shareOfIteration,
} from '../traffic/weights.ts';
import { isPaused, notePause } from '../windows.ts';
import { describeRelease, type Run, type Side } from '../world.ts';
import { type Failure, preRollout, stepCheck, stepNote } from './analysis-checks.ts';
import { recreatedPrimary } from './restore.ts';
import { end, failAtGate, failOnPrimary } from './transitions.ts';

type Analysing = StateOf<'Analysing'>;

/** The position of the analysis, as read back: a step whose check was skipped once is not skipped again after a crash. */
export function positionOf(
  { world }: Context,
  { run, iterations }: { readonly run: Run; readonly iterations: number },
): string {
  return `${shareOf(world.route?.canaryWeight ?? 0, run.side)}/${iterations}`;
}

/**
 * A release is tried by Flagger's rules (flagger-behaviour 2), on the canary or on the primary. Checks have their own clock: missing pods,
 * capacity and pause delay only moves of traffic, not checks (issue 11).
 */
export function analysing(context: Context, before: Analysing): Outcome {
  const recreated = before.run.side === 'primary' ? undefined : recreatedPrimary(context);
  if (recreated) return stay(before, recreated);
  if (before.run.restartKey !== context.plan.restartKey) return restart(context, before);
  const trial = observe(context, before);
  return notReady(context, trial) ?? regainShare(context, trial) ?? advance(context, trial);
}

/** The side under trial, as a step sees it. */
interface Trial {
  readonly state: Analysing;
  readonly side: Side;
  /** The copy that is tried, and whether it is ready. */
  readonly view: WorkloadView | undefined;
  readonly isUp: boolean;
  /** Its share, in percent. */
  readonly share: number;
  /** It had neither traffic nor a check. */
  readonly isUntouched: boolean;
  /** It had traffic, by steps, and lost all of it because its pods were gone; or it loses it now, since somebody scaled it to zero. */
  readonly hasLostTraffic: boolean;
}

function observe(context: Context, before: Analysing): Trial {
  const { world, plan, now } = context;
  const { route } = world;
  const side = before.run.side ?? 'canary';
  const view = side === 'primary' ? world.primary : world.target;
  const share = shareOf(route?.canaryWeight ?? 0, side);
  // Checks count from when the gateway accepted a share, not from when it was written; one that passed at another share does not count (S4).
  const run =
    route?.accepted && share !== before.run.weight
      ? {
          ...without(before.run, 'asksGates'),
          weight: share,
          stepTime: now,
          ...lossOf(context, before, share),
        }
      : before.run;
  const state = withRun({ ...before, run }, withProgress(context, run, view));
  const isUntouched = share === 0 && state.iterations === 0 && state.run.checkNumber === 0;
  // If both sides are pods of one workload, the canary has no pods before its first share.
  const isUp =
    world.sharesWorkload && route?.canaryWeight === 0
      ? view?.observed === true
      : isReady(view, side === 'primary' ? plan.primaryReadyPercent : plan.canaryReadyPercent);
  const isGone = plan.strategy.kind === 'canary' && share === 0 && route?.mirrored !== true;
  const hasLostTraffic = !isUntouched && (isGone || isScaledAway(context, state));
  return { state, side, view, isUp, share, isUntouched, hasLostTraffic };
}

/**
 * It loses all traffic, as with its pods, maybe before its first check: it is not as before its first step, and from now on a check has to have
 * a result in time.
 */
function lossOf(context: Context, { run }: Analysing, share: number): Partial<Run> {
  const { checkNumber, unknownSince = context.now, weight = 0, preRolloutTime } = run;
  const mayHaveTraffic = preRolloutTime !== undefined || !hasHooks(context, 'pre-rollout');
  return share === 0 && weight > 0 && mayHaveTraffic ? { checkNumber: checkNumber + 1, unknownSince } : {};
}

/** What has to happen before the release is checked or moved. */
function notReady(
  context: Context,
  { state, side, view, isUp, share, isUntouched }: Trial,
): Outcome | undefined {
  const { world, plan } = context;
  const { route } = world;
  const name = describeRelease(state.run);
  if (!route) return stay(state, note('Progressing', `${name} continues once its route exists again`));
  const late = isUp ? undefined : failLate(context, state, { view, isUntouched });
  if (late) return late;
  const waits = isUp ? {} : waitForPods(context, state, view);
  if (!isUp && isUntouched) return stay(state, waits);
  const settleMs = share === 0 ? settlingMs(context, state.run, side) : 0;
  if (settleMs > 0)
    return stay(
      state,
      note('Progressing', `the ${side} with ${name} is ready; traffic is shifted next`),
      wake(settleMs),
    );
  // Another writer has put its own backends in their place: the sides get the requests again as at first.
  if (otherBackendsServe(world)) return returnTraffic(state, combine(waits, routeNote(context, state.run)));
  if (!route.accepted) return stay(state, waits, routeNote(context, state.run));
  // More traffic than any step allows, as after a failure of the primary or a change by hand (S3); it is checked there if it cannot go back in time.
  const mayReturn =
    side === 'primary' ? canaryServes(world.target) : isReady(world.primary, plan.primaryReadyPercent);
  const leftMs = plan.progressDeadlineMs - elapsedMs(context, state.run.standing?.route?.since);
  if (share <= largestWeight(plan) || !mayReturn || leftMs <= 0) return undefined;
  const statusNote = note('Progressing', `${name} has more traffic than its steps allow; they start over`);
  return returnTraffic(state, combine(statusNote, wake(leftMs)));
}

/**
 * Pods without progress for the whole deadline, or a controller that reports that, fail the release. What the controller says of one that was
 * up by its ready threshold is about the pods beyond that.
 */
function failLate(
  context: Context,
  state: Analysing,
  { view, isUntouched }: Pick<Trial, 'view' | 'isUntouched'>,
): Outcome | undefined {
  const { progressDeadlineMs } = context.plan;
  const isGivenUp = isUntouched && view?.progressDeadlineExceeded === true;
  if (sinceProgressMs(context, state.run) < progressDeadlineMs && !isGivenUp) return undefined;
  const message = `the ${state.run.side ?? 'canary'} did not become ready in ${progressDeadlineMs / 1000} s: ${whyNotReady(view)}`;
  const [worst] = view?.faults ?? [];
  const cause = worst && causeOf(worst, []);
  return fail(context, state, { reason: 'ProgressDeadlineExceeded', message, cause }, {});
}

/** The release failed on the side where it is tried. `checked`: status and events of the check that failed. */
function fail(
  context: Context,
  state: Analysing,
  { reason, message, cause }: Failure,
  checked: Effects,
): Outcome {
  const { status = {}, events = [] } = checked;
  const why = cause === undefined ? {} : { cause };
  if (state.run.side !== 'primary')
    return end(
      context,
      state,
      { phase: 'Failed', reason, message, reject: reason, ...why },
      { status, events },
    );
  const failed = failOnPrimary(context, state, { reason, finding: message, control: false, ...why });
  return { ...failed, ...combine({ status, events }, failed) };
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

/** All traffic goes back to the side that is not tried. */
function returnTraffic(state: Analysing, statusNote: Effects): Outcome {
  return { ...stay(state, statusNote), prefers: state.run.side === 'primary' ? ALL.canary : ALL.primary };
}

/** From weight 0; from where it is, if the other side cannot take the traffic back. */
function restart(context: Context, before: Analysing): Outcome {
  const { world, plan } = context;
  const other = before.run.side === 'primary' ? world.target : world.primary;
  const state = withRun(before, withProgress(context, before.run, other));
  const { run } = state;
  const statusNote = note('AnalysisRestarted', `${describeRelease(run)} restarts its analysis`);
  const leftMs = plan.progressDeadlineMs - sinceProgressMs(context, run);
  const hasTraffic = shareOf(world.route?.canaryWeight ?? 0, run.side) > 0 || world.route?.mirrored;
  if (hasTraffic && servingPods(other) > 0 && leftMs > 0)
    return returnTraffic(state, combine(statusNote, wake(leftMs)));
  const begun = {
    ...without(withProgressReset(context, run), 'asksGates', 'closedGate', 'unknownSince', 'weight'),
    restartKey: plan.restartKey,
    startTime: context.now,
    checkNumber: 0,
  };
  return stay(
    { ...state, isGateClosed: false, run: begun, iterations: 0, failedChecks: 0 },
    emit('Normal', 'AnalysisRestarted', 'steps, strategy, metrics or match changed: the analysis restarts'),
    statusNote,
  );
}

/** One step of the analysis: the check at this share, then room for the next one, its gates, and the move (design section 4, analyse). */
function advance(context: Context, trial: Trial): Outcome {
  const { plan, world } = context;
  const { share } = trial;
  const { run, iterations } = trial.state;
  if (isPromotedNow(context, trial)) return promote(context, trial.state);
  const next = nextStep(planFor(plan, run), { canaryWeight: share, iterations });
  const move = limitStep(context, next, share, run);
  // Before traffic leaves it: a primary that is scaled down could not take the traffic back (flagger issue 1600).
  const primaryPods = world.primary?.desiredReplicas ?? 0;
  const sized =
    world.route?.canaryWeight === 0 ? act(...raiseMinReplicas(world, 'primary', primaryPods)) : {};
  const { state, blocked } = roomFor(context, trial, move);
  if (!blocked && isChecked(context, state)) return throughGates(context, state, move, sized);
  if (trial.hasLostTraffic) {
    const again = retaking(context, state, blocked !== undefined);
    if (blocked) return stay(again, sized, blocked);
    return failUnchecked(context, again, sized) ?? throughGates(context, again, move, sized);
  }
  const asked = trial.isUntouched ? preRollout(context, state) : stepCheck(context, state, share);
  if (asked.failure) return fail(context, asked.state, asked.failure, asked.effects);
  const effects = combine(sized, asked.effects);
  if (blocked)
    return stay(asked.passed ? withRun(asked.state, { asksGates: true }) : asked.state, effects, blocked);
  return asked.passed ? throughGates(context, asked.state, move, effects) : stay(asked.state, effects);
}

/** By somebody: what its checks said since tells nothing of the release. A watch may have lost when that was. */
function isScaledAway({ world: { target, sharesWorkload } }: Context, { run }: Analysing): boolean {
  return run.side !== 'primary' && !sharesWorkload && target?.desiredReplicas === 0;
}

/** A check that was due to have a result by now has the whole time again. */
function withTimeAgain(context: Context, state: Analysing): Analysing {
  const { unknownSince } = state.run;
  const isOver =
    unknownSince !== undefined && elapsedMs(context, unknownSince) >= context.plan.progressDeadlineMs;
  return isOver ? withRun(state, { unknownSince: context.now }) : state;
}

/** The check at this step passed, or a person skipped it. */
function isChecked(context: Context, state: Analysing): boolean {
  const { run } = state;
  return (
    run.asksGates === true || isOpenedByHand(context, run) || run.skipStepAt === positionOf(context, state)
  );
}

/**
 * A canary that lost its traffic with its pods takes its steps again, without a check of what has no traffic. That a check has a result again has
 * a deadline, so that pods which come and go end the release; not during a pause, which a person ends, nor at a gate, which has its own.
 */
function retaking(context: Context, before: Analysing, isBlocked: boolean): Analysing {
  const { run } = before;
  if (isPaused(context, run) || run.closedGate) return { ...before, run: without(run, 'unknownSince') };
  if (isBlocked) return isScaledAway(context, before) ? withTimeAgain(context, before) : before;
  const state = untilRouted(context, before);
  return state === before ? withRun(state, { unknownSince: run.unknownSince ?? context.now }) : state;
}

/**
 * Pods that are up for an interval, or half of the deadline, and have no share yet wait for a route that cannot be written: that is no matter of
 * their checks.
 */
function untilRouted(context: Context, state: Analysing): Analysing {
  const { run } = state;
  const { intervalMs, progressDeadlineMs } = context.plan;
  const upSince = run.standing?.[run.side ?? 'canary']?.since;
  const lateMs = Math.min(intervalMs, progressDeadlineMs / 2);
  return upSince !== undefined && elapsedMs(context, upSince) >= lateMs
    ? { ...state, run: without(run, 'unknownSince') }
    : state;
}

/** Undefined: a check has had a result since the traffic was lost, or still has time. */
function failUnchecked(context: Context, state: Analysing, effects: Effects): Outcome | undefined {
  const { progressDeadlineMs } = context.plan;
  const { unknownSince } = state.run;
  if (unknownSince === undefined || elapsedMs(context, unknownSince) < progressDeadlineMs) return undefined;
  const message = `${describeRelease(state.run)} lost its traffic with its pods, and had no conclusive check for ${progressDeadlineMs / 1000} s`;
  return fail(context, state, { reason: 'NoData', message }, effects);
}

/** It is promoted without its remaining checks, which its pods being ready is enough for. */
function isPromotedNow(context: Context, { state: { run }, isUp }: Trial): boolean {
  const skipsAnalysis = context.plan.skipAnalysis || run.fastLane || run.promoteNow;
  return Boolean(skipsAnalysis) && isUp && !isPaused(context, run);
}

/**
 * Its route was refused or deleted, or traffic had to leave it: nothing is checked, and no step follows, before it has its share, or its mirror,
 * again. Checks count from then on.
 */
function regainShare(context: Context, trial: Trial): Outcome | undefined {
  const { run, iterations } = trial.state;
  const plan = planFor(context.plan, run);
  const percent = shareOfIteration(plan, iterations);
  const mirrored = lacksMirror(context, trial, plan);
  if ((trial.share >= percent && !mirrored) || isPromotedNow(context, trial)) return undefined;
  const move = { kind: 'iterate', iterations, canaryWeight: percent, mirrored } as const;
  const { state, blocked } = roomFor(context, trial, move);
  const isWaiting = isPaused(context, run);
  if (blocked)
    return stay(isWaiting ? { ...state, run: without(state.run, 'unknownSince') } : state, blocked);
  const routed = untilRouted(context, state);
  const failed = failUnchecked(context, routed, {});
  if (failed) return failed;
  const statusNote = note(
    'Progressing',
    `${describeRelease(run)} gets the traffic of iteration ${iterations}`,
  );
  const next = { ...routed, run: without(routed.run, 'weight', 'stepTime', 'asksGates') };
  return { ...stay(next, statusNote), prefers: { kind: 'share', side: trial.side, percent, mirrored } };
}

/** Before steps requests are mirrored until the first check: after that traffic may have left the canary at a later step. */
function lacksMirror({ world }: Context, { state, share }: Trial, plan: Plan): boolean {
  const { run, iterations } = state;
  if (share > 0 || world.route?.mirrored || !isMirroredIteration(plan, iterations)) return false;
  return plan.strategy.kind !== 'canary' || run.checkNumber === 0;
}

/**
 * What keeps a release at its step although its check passed; the checks continue. `state` has the time since when pods for the next share
 * are missing (S4).
 */
function roomFor(
  context: Context,
  { state, side, share, isUp, view }: Trial,
  move: Step,
): { readonly state: Analysing; readonly blocked?: Effects } {
  const { world, plan } = context;
  const run = without(state.run, 'shortSince');
  const whole = { ...state, run };
  // Gates are not asked meanwhile, so that their deadlines restart.
  const paused = { ...state, run: without(run, 'closedGate') };
  if (isPaused(context, run)) return { state: paused, blocked: notePause(context, `at ${share} %`) };
  if (move.kind === 'stuck') {
    const message = `spec.analysis has no step beyond ${share} %; change stepWeight`;
    return { state: whole, blocked: stall('StepsDoNotAdvance', message) };
  }
  if (!isUp) return { state: whole, blocked: waitForPods(context, state, view) };
  const asked = move.kind === 'promote' ? 0 : move.canaryWeight;
  // An A/B match takes an unknown share: one pod is asked for.
  const next = plan.strategy.kind === 'ab' && side === 'canary' ? Math.min(1, asked) : asked;
  const needed = next === 0 ? 0 : podsNeeded(context, side, next);
  const ready = readyPods(context, side);
  if (world.sharesWorkload || ready >= needed) return { state: whole };
  const short = withRun(state, { shortSince: state.run.shortSince ?? context.now });
  const grown = side === 'canary' ? growCanary(world, needed) : raiseMinReplicas(world, 'primary', needed);
  const shortage = { side, ready, needed, share: next, deadlineMs: plan.progressDeadlineMs };
  return { state: short, blocked: combine(act(...grown), missingPods(context, short.run, shortage)) };
}

/** No match and no mirror leads to a release on the primary: it is tried there as blue/green. */
function planFor(plan: Plan, { side }: Run): Plan {
  const { strategy } = plan;
  if (side !== 'primary') return plan;
  if (strategy.kind === 'canary') {
    const { mirror: _, ...withoutMirror } = strategy;
    return { ...plan, strategy: withoutMirror };
  }
  const shiftsTraffic = strategy.kind === 'ab' || strategy.shiftsTraffic;
  return {
    ...plan,
    strategy: { kind: 'blueGreen', iterations: strategy.iterations, mirror: false, shiftsTraffic },
  };
}

/** If the scaler's maxReplicas are too few pods for the next share, the share rises as far as they carry, and that is the last step. */
function limitStep(context: Context, move: Step, share: number, { side = 'canary' }: Run): Step {
  const { world, plan } = context;
  const scaler = world.scaler?.[side];
  const isMatched = plan.strategy.kind === 'ab' && side === 'canary';
  if (!scaler || (move.kind !== 'weight' && move.kind !== 'iterate') || isMatched) return move;
  const carried = fullSize(world);
  const reach = scaler.maxReplicas >= carried ? 100 : Math.floor((scaler.maxReplicas * 100) / carried);
  if (move.canaryWeight <= reach || reach < 1) return move;
  return move.kind === 'weight' && reach > share
    ? { kind: 'weight', canaryWeight: reach }
    : { kind: 'promote' };
}

/** The gates between a passed check and its move. A closed one leaves share, iterations and failed checks as they are (2.19, 8). */
function throughGates(context: Context, state: Analysing, move: Step, effects: Effects): Outcome {
  const gate = askGates(context, state.run, gatesBefore(context, state, move));
  const asked = combine(effects, gate.effects);
  if (gate.kind === 'asking') {
    const run = { ...gate.run, asksGates: true };
    const statusNote = run.closedGate
      ? noteClosed(run.closedGate, describeRelease(run))
      : note('Progressing', `${describeRelease(run)} passed; asking the gates before the next step`);
    return stay({ ...state, run }, asked, statusNote);
  }
  const run = without(gate.run, 'asksGates', 'skipStepAt');
  if (gate.kind === 'open') return takeStep(context, { ...state, isGateClosed: false, run }, move, asked);
  if (gate.overdue) return failAtGate(context, { ...state, run }, gate.gate);
  const isGateClosed = state.isGateClosed || gate.gate.type === 'confirm-promotion';
  return stay({ ...state, run, isGateClosed }, asked, noteClosed(gate.gate, describeRelease(run)));
}

/** As in Flagger: before each step of the weight, the last one and the mirror included; before promotion; in blue/green before all traffic moves. */
function gatesBefore({ plan }: Context, { isGateClosed }: Analysing, move: Step): readonly GateType[] {
  const { kind } = plan.strategy;
  if (move.kind === 'weight') return ['confirm-traffic-increase'];
  if (move.kind === 'iterate' && kind === 'canary') return ['confirm-traffic-increase'];
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
    const statusNote = note('Progressing', `${describeRelease(run)} goes to ${move.canaryWeight} %`);
    return {
      ...stay(state, effects, statusNote, again),
      prefers: { kind: 'share', side, percent: move.canaryWeight },
    };
  }
  const { iterations, canaryWeight: percent, mirrored } = move;
  const takes =
    percent > 0 || shareOf(world.route?.canaryWeight ?? 0, side) > 0 ? ', canary takes traffic' : '';
  const event = emit('Normal', 'IterationAdvanced', `iteration ${iterations}${takes}`);
  const next = { ...state, iterations, run: { ...run, stepTime: context.now } };
  const statusNote = stepNote(context, next, percent);
  const prefers: Preference = { kind: 'share', side, percent, mirrored: mirrored && side === 'canary' };
  return { ...stay(next, effects, event, statusNote, again), prefers };
}

/** The analysis passed: the primary gets this release. The status is written before the primary. */
export function promote(context: Context, { run, iterations }: Analysing, effects: Effects = {}): Outcome {
  const begun = without(withProgressReset(context, run), 'stepTime', 'promoteNow');
  const post = { reason: 'Promoting', startTime: context.now };
  const next = promotionState(context, { run: begun, failedChecks: 0, iterations, post });
  const what = run.side === 'primary' ? 'moving all traffic to the primary' : 'writing it to the primary';
  const { events = [], status = {} } = effects;
  const event = emit('Normal', 'Promoting', `${describeRelease(run)} passed; ${what}`);
  return enter(next, combine({ status, events }, event));
}
