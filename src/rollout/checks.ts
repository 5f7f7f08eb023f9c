/** Checks of a release: which metrics and webhooks are asked when, and what their answers say. */
import { type CanaryMetric, metricsById } from '../api/canary/metrics.ts';
import type { Plan } from '../api/canary/plan.ts';
import type { CheckResult } from '../api/canary/status.ts';
import { type HookType, hooksOf } from '../api/canary/webhooks.ts';
import { sinceMs, stamp } from '../api/time.ts';
import { type CheckOutcome, judge, judgeHooks, verdictOf } from '../health/check-results.ts';
import type { Expected } from '../health/comparison.ts';
import type { CheckRequest } from './action.ts';
import { type Context, later, remainingMs } from './context.ts';
import { type Effects, wake } from './outcome.ts';
import type { Run } from './run.ts';
import type { World } from './world.ts';

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
  return {
    run,
    waits: { check: request(context, plan.about ?? run, { key, role, purpose, metrics, hooks }) },
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
