import { type CanaryMetric, metricsById } from '../api/canary/metrics.ts';
import type { CheckResult } from '../api/canary/status.ts';
import type { HookType } from '../api/canary/webhooks.ts';
import { sinceMs, stamp } from '../api/time.ts';
import { type CheckOutcome, judge, judgeHooks, verdictOf } from '../health/check-results.ts';
import type { CheckRequest } from './action.ts';
import { type Context, later, remainingMs } from './context.ts';
import { hasHooks, request, requestKeyPrefix } from './hooks.ts';
import { type Effects, wake } from './outcome.ts';
import type { Run } from './run.ts';

/** What to ask and when. Times in milliseconds. */
interface CheckPlan {
  role: CheckRequest['role'];
  purpose: CheckRequest['purpose'];
  metrics: readonly CanaryMetric[];
  /** The webhooks that are part of this check. */
  hooks: HookType;
  /** The release webhooks are asked about, where it is not the one under way. */
  about?: { digest: string; commit: string };
  /** Not before this much time has passed since this stamp. */
  since: string | undefined;
  afterMs: number;
}

/** How a check stands: not answered yet, with the question or when it is due; or answered, used once. `run` is the bookkeeping from then on. */
type Check =
  | { readonly run: Run; readonly waits: Effects }
  | { readonly run: Run; readonly waits?: undefined; readonly results: readonly CheckResult[] };

/** One check: asked when it is due, answered in a later step, used once. A check without metrics and webhooks answers itself. */
export function check(context: Context, given: Run, plan: CheckPlan): Check {
  const { checks } = context.world;
  const answer = checks?.key === checkKey(given, plan) ? checks : undefined;
  // One from before the traffic was as it is now says nothing of it (S4): another one is asked for.
  const isOld =
    answer !== undefined && plan.since !== undefined && sinceMs(answer.atMs, plan.since) < plan.afterMs;
  const run = isOld ? { ...given, checkNumber: given.checkNumber + 1 } : given;
  if (answer && !isOld) return answered(context, run, plan, answer);
  const inMs = remainingMs(context, plan.since, plan.afterMs);
  if (inMs > 0) return { run, waits: wake(inMs) };
  if (!hasQuestions(context, plan)) return answered(context, run, plan, unasked(context));
  return ask(context, run, plan, checkKey(run, plan));
}

/**
 * As `check`, for a wait without end: an answer that says nothing changes nothing, so that waiting writes no status (L2). Its key goes on
 * from the answer before; after a restart there is none, and no answer that an older key could be taken for.
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
  if (!hasQuestions(context, plan)) return answered(context, run, plan, unasked(context));
  return ask(context, run, plan, `${prefix}${number}`);
}

function hasQuestions(context: Context, { metrics, hooks }: CheckPlan): boolean {
  return metrics.length > 0 || hasHooks(context, hooks);
}

function unasked({ world }: Context): CheckOutcome {
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
