import { isGateOpen } from '../api/annotations.ts';
import type { CanaryMetric, HookType } from '../api/canary/analysis.ts';
import { hooksOf, metricsById } from '../api/canary/canary.ts';
import type { Plan } from '../api/canary/plan.ts';
import type { CheckResult } from '../api/canary/status.ts';
import type { CheckOutcome, CheckRequest } from '../api/observed.ts';
import { GATE_REASONS } from '../api/reasons.ts';
import { durationOr, sinceMs, stamp } from '../api/time.ts';
import { judge, judgeHooks, verdictOf, verdictOfHooks, whyClosed } from '../health/check-results.ts';
import type { Expected } from '../health/comparison.ts';
import { type Context, elapsedMs, later, remainingMs } from './context.ts';
import { combine, type Effects, emit, note, wake } from './outcome.ts';
import { without } from './state.ts';
import type { ClosedGate, Run, World } from './world.ts';

/** Checks of a release: which metrics and webhooks are asked when, and what their answers say. */

/** Prefix of the keys of all requests of one run. */
export function requestKeyPrefix(run: Pick<Run, 'digest' | 'startTime'>): string {
  return `${run.digest}/${run.startTime}`;
}

/** Whether the Canary has webhooks of this type. */
export function hasHooks({ world }: Context, type: HookType): boolean {
  return hooksOf(world.canary, type).length > 0;
}

/** A check request with what webhooks receive about this release. `finish` sets the phase to that at the end of the step. */
export function request(
  { world }: Context,
  release: { digest: string; commit: string },
  questions: Pick<CheckRequest, 'key' | 'role' | 'purpose'> & Partial<CheckRequest>,
): CheckRequest {
  const { digest, commit } = release;
  const canaryWeight = world.route?.canaryWeight ?? 0;
  return {
    metrics: [],
    hooks: [],
    facts: { phase: world.status.phase ?? '', digest, commit, canaryWeight },
    ...questions,
  };
}

/** What to ask and when. Times in milliseconds. */
interface CheckPlan {
  role: CheckRequest['role'];
  purpose: CheckRequest['purpose'];
  metrics: readonly CanaryMetric[];
  /** The webhooks that are part of this check. */
  hooks: HookType;
  /** The release that webhooks are asked about; absent: the one under way. */
  about?: { digest: string; commit: string };
  /** The check is due `afterMs` after this time. */
  since: string | undefined;
  afterMs: number;
}

/** A check that has no answer yet, with the request or when it is due, or its results. `run` has the bookkeeping from then on. */
type Check =
  | { readonly run: Run; readonly waits: Effects }
  | { readonly run: Run; readonly waits?: undefined; readonly results: readonly CheckResult[] };

/** One check: asked when it is due, answered in a later step; each answer is used once. A check without metrics and webhooks passes. */
export function check(context: Context, given: Run, plan: CheckPlan): Check {
  const { checks } = context.world;
  const answer = checks?.key === checkKey(given, plan) ? checks : undefined;
  // An answer from before the last change of traffic does not count (S4): the check is asked again.
  const isOld =
    answer !== undefined && plan.since !== undefined && sinceMs(answer.atMs, plan.since) < plan.afterMs;
  const run = isOld ? { ...given, checkNumber: given.checkNumber + 1 } : given;
  if (answer && !isOld) return answered(context, run, plan, answer);
  const inMs = remainingMs(context, plan.since, plan.afterMs);
  if (inMs > 0) return { run, waits: wake(inMs) };
  if (!hasQuestions(context, plan)) return answered(context, run, plan, nothingAsked(context));
  return ask(context, run, plan, checkKey(run, plan));
}

/**
 * As `check`, for a wait without end: an inconclusive answer changes nothing, so that waiting writes no status (L2). The number in the key
 * goes up with each answer; after a restart there is no answer, and none whose key could be mistaken for a new one.
 */
export function quietCheck(context: Context, run: Run, plan: CheckPlan): Check {
  const prefix = `${checkKey(run, plan)}/`;
  const { checks } = context.world;
  const last = checks?.key.startsWith(prefix) ? checks : undefined;
  const taken = last && answered(context, run, plan, last);
  if (taken && !taken.waits && verdictOf(taken.results) !== 'unknown') return taken;
  const inMs = remainingMs(context, last ? stamp(last.atMs) : plan.since, plan.afterMs);
  if (inMs > 0) return { run, waits: wake(inMs) };
  const number = last ? Number(last.key.slice(prefix.length)) + 1 : 0;
  if (!hasQuestions(context, plan)) return answered(context, run, plan, nothingAsked(context));
  return ask(context, run, plan, `${prefix}${number}`);
}

function hasQuestions(context: Context, { metrics, hooks }: CheckPlan): boolean {
  return metrics.length > 0 || hasHooks(context, hooks);
}

function nothingAsked({ world }: Context): CheckOutcome {
  return { key: '', atMs: world.nowMs, readings: [], hooks: [] };
}

function checkKey(run: Run, { purpose }: CheckPlan): string {
  return `${requestKeyPrefix(run)}/${purpose}/${run.checkNumber}`;
}

function ask(context: Context, run: Run, plan: CheckPlan, key: string): Check {
  const { role, purpose } = plan;
  const hooks = hasHooks(context, plan.hooks) ? [plan.hooks] : [];
  const metrics = [...metricsById(plan.metrics).keys()];
  const { startTime } = run;
  return {
    run,
    waits: { check: request(context, plan.about ?? run, { key, startTime, role, purpose, metrics, hooks }) },
  };
}

function answered(context: Context, run: Run, plan: CheckPlan, outcome: CheckOutcome): Check {
  const purpose = plan.purpose === 'analysis' ? 'analysis' : 'postPromotion';
  const results = [
    ...judgeHooks(context.world.canary, outcome, plan.hooks, plan.purpose),
    ...judge(plan.metrics, outcome, purpose),
  ];
  return {
    run: { ...run, checkNumber: run.checkNumber + 1, lastCheckTime: stamp(outcome.atMs) },
    results,
  };
}

/** The check after promotion: the primary's metrics and webhooks, once per interval. */
export function primaryCheck({ plan: { postPromotion } }: Context, run: Run): CheckPlan {
  return {
    role: 'primary',
    purpose: 'postPromotion',
    metrics: postPromotion.metrics,
    hooks: 'post-promotion',
    since: later(run.stepTime, run.lastCheckTime),
    afterMs: postPromotion.intervalMs,
  };
}

/** The expected state of the primary with this release, for `compare`. */
export function expectedState(world: World, plan: Plan, digest: string | undefined): Expected {
  const { state } = world.status.postPromotion ?? {};
  const scaler = world.scaler?.primary;
  // While the primary takes a release over, all wanted pods must be there; afterwards its scaler decides, within its bounds.
  const isScaled = scaler && (state === undefined || state === 'Verifying');
  return {
    digest,
    readyPercent: plan.primaryReadyPercent,
    maxRestarts: plan.postPromotion.maxRestarts,
    replicas: isScaled ? { min: scaler.minReplicas, max: scaler.maxReplicas } : undefined,
  };
}

/** Gates: webhooks of type confirm-*, which are asked until they approve, and a person's approval in their place. */

/** The gates between a passed check and what it leads to. */
export type GateType = ClosedGate['type'];

/** The answer of the gates; `run` and `effects` carry what changed. */
type GateState =
  | { readonly kind: 'open'; readonly run: Run; readonly effects: Effects }
  | { readonly kind: 'asking'; readonly run: Run; readonly effects: Effects }
  /** A gate said no, or did not answer. `overdue`: its deadline has passed. */
  | {
      readonly kind: 'closed';
      readonly run: Run;
      readonly effects: Effects;
      readonly gate: ClosedGate;
      readonly overdue: boolean;
    };

/** The phase in which a person approves in place of the gate's webhooks; confirm-traffic-increase has none. */
const APPROVED_IN: Partial<Record<GateType, 'Waiting' | 'WaitingPromotion'>> = {
  'confirm-rollout': 'Waiting',
  'confirm-promotion': 'WaitingPromotion',
};

/** Part of the keys of questions asked while our own gate is open: a new question, which need not wait for the next interval. */
const OPEN = '+open';

/** A person approved this release in the phase in which this gate is asked. */
function isApproved(run: Run, type: GateType): boolean {
  const phase = APPROVED_IN[type];
  return phase !== undefined && run.approved?.includes(phase) === true;
}

/** A person opened the closed gate, and the last check at this step passed: the next move needs no further check. */
export function isOpenedByHand({ world }: Context, run: Run): boolean {
  if (!run.closedGate) return false;
  const isNew = isGateOpen(world.canary, 'gate') && world.checks?.key.includes(`${OPEN}/`) !== true;
  const { type } = run.closedGate;
  const isOpened = isNew || (type === 'confirm-promotion' && isApproved(run, type));
  return isOpened && verdictOf(world.status.checks ?? []) === 'pass';
}

/** Asks these gates, all at once. Those that a person approved, or that have no webhooks, are open. */
export function askGates(context: Context, run: Run, gates: readonly GateType[]): GateState {
  const types = gates.filter((type) => hasHooks(context, type) && !isApproved(run, type));
  if (types.length === 0) return opened(run, {});
  const asked = poll(context, run, types);
  if (!asked.answers) return { kind: 'asking', run, effects: { check: asked.request } };
  const again = wake(asked.againMs);
  const type = types.find(
    (candidate) => verdictOfHooks(context.world.canary, asked.answers, candidate) !== 'approved',
  );
  return type ? closed(context, run, { type, outcome: asked.answers, again }) : opened(run, again);
}

/** The answers that count now and when they are too old, or the request that brings new ones. */
type Polled =
  | { readonly answers: CheckOutcome; readonly againMs: number }
  | { readonly answers?: never; readonly request: CheckRequest };

/** Asks the same webhooks once per interval. Answers are used until they are older than that; the status keeps none, so that waiting writes nothing. */
function poll(context: Context, run: Run, types: readonly GateType[]): Polled {
  const { world, plan } = context;
  const stem = `${requestKeyPrefix(run)}/${types.join('+')}${isGateOpen(world.canary, 'gate') ? OPEN : ''}`;
  const answers = world.checks?.key.startsWith(`${stem}/`) ? world.checks : undefined;
  const ageMs = answers ? elapsedMs(context, stamp(answers.atMs)) : Number.POSITIVE_INFINITY;
  // A deadline may be shorter than the interval: a gate does not fail by an answer from before it.
  const { closedGate } = run;
  const overMs = closedGate && types.includes(closedGate.type) ? -gateLeftMs(context, closedGate) : -1;
  const isOld = overMs >= 0 && ageMs > overMs;
  if (answers && ageMs < plan.intervalMs && !isOld) return { answers, againMs: plan.intervalMs - ageMs };
  const key = `${stem}/${answers?.atMs ?? 0}`;
  return { request: request(context, run, { key, role: 'canary', purpose: 'analysis', hooks: types }) };
}

/** Until the deadline of a closed gate, below zero after it: the shortest of its webhooks; without any it waits without end. */
function gateLeftMs(context: Context, { type, since }: Pick<ClosedGate, 'type' | 'since'>): number {
  const deadlinesMs = hooksOf(context.world.canary, type).map((hook) =>
    durationOr('deadline' in hook ? hook.deadline : undefined, Number.POSITIVE_INFINITY),
  );
  return Math.min(...deadlinesMs) - elapsedMs(context, since);
}

function opened(run: Run, effects: Effects): GateState {
  if (!run.closedGate) return { kind: 'open', run, effects };
  const event = emit('Normal', 'GateOpened', `${run.closedGate.type} is open`);
  return { kind: 'open', run: without(run, 'closedGate'), effects: combine(effects, event) };
}

function closed(
  context: Context,
  run: Run,
  { type, outcome, again }: { type: GateType; outcome: CheckOutcome; again: Effects },
): GateState {
  const { world, now } = context;
  const webhooks = hooksOf(world.canary, type);
  const before = run.closedGate?.type === type ? run.closedGate : undefined;
  const refused = outcome.hooks.filter(({ verdict }) => verdict !== 'approved').map(({ name }) => name);
  const shut = webhooks.filter(({ name }) => refused.includes(name));
  const gate = before ?? {
    type,
    since: now,
    why: whyClosed(outcome, type),
    muted: shut.length > 0 && shut.every(({ muteAlert }) => muteAlert === true),
  };
  const event = before ? {} : emit('Warning', GATE_REASONS[type], `${type} is closed: ${gate.why}`);
  const leftMs = gateLeftMs(context, gate);
  const effects = combine(again, event, wake(Number.isFinite(leftMs) ? leftMs : 0));
  return { kind: 'closed', gate, overdue: leftMs <= 0, run: { ...run, closedGate: gate }, effects };
}

/** Why a release waits; the message stays the same while the gate is closed, so that the status is not written again. */
export function noteClosed({ type, why }: ClosedGate, what: string): Effects {
  return note(GATE_REASONS[type], `${what} waits for ${type}: ${why}`, {
    action: 'continues when the gate opens',
  });
}
