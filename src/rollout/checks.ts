import type { CanaryMetric } from '../api/canary-metric.ts';
import type { CheckResult } from '../api/canary-status.ts';
import type { HookType } from '../api/hooks.ts';
import { metricsById } from '../api/metric-ids.ts';
import { sinceMs, stamp } from '../api/units.ts';
import { type CheckOutcome, judge, verdictOf } from '../health/check-results.ts';
import type { CheckRequest } from './action.ts';
import { type Context, later, remainingMs } from './context.ts';
import { hasHooks, judgeHooks, keyPrefix, request } from './hooks.ts';
import type { Run } from './run.ts';

/** What to ask and when. Times in milliseconds. */
export interface CheckPlan {
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

/** How a check stands: not due for so long; asked, with the question; or answered, used once. `run` is the bookkeeping from then on. */
export type Check =
  | { readonly kind: 'due'; readonly inMs: number; readonly run: Run }
  | { readonly kind: 'asked'; readonly request: CheckRequest; readonly run: Run }
  | { readonly kind: 'answered'; readonly results: readonly CheckResult[]; readonly run: Run };

/** One check: asked when it is due, answered in a later step, used once. A check without metrics and webhooks answers itself. */
export function check(context: Context, given: Run, plan: CheckPlan): Check {
  const answer = answerTo(context, given, plan);
  // One from before the traffic was as it is now says nothing of it (S4): another one is asked for.
  const isOld = answer !== undefined && !isOf(answer, plan);
  const run = isOld ? { ...given, checkNumber: given.checkNumber + 1 } : given;
  if (answer && !isOld) return taken(context, run, plan, answer);
  const inMs = remainingMs(context, plan.since, plan.afterMs);
  if (inMs > 0) return { kind: 'due', inMs, run };
  return asked(context, run, plan, keyOf(run, plan));
}

function isOf(answer: CheckOutcome, { since, afterMs }: CheckPlan): boolean {
  return since === undefined || sinceMs(answer.atMs, since) >= afterMs;
}

function answerTo({ world }: Context, run: Run, plan: CheckPlan): CheckOutcome | undefined {
  return world.checks?.key === keyOf(run, plan) ? world.checks : undefined;
}

function keyOf(run: Run, { purpose }: CheckPlan): string {
  return `${keyPrefix(run)}/${purpose}/${run.checkNumber}`;
}

/**
 * As `check`, for a wait without end: an answer that says nothing changes nothing, so that waiting writes no status (L2). Its key goes on
 * from the answer before; after a restart there is none, and no answer that an older key could be taken for.
 */
export function quietCheck(context: Context, run: Run, plan: CheckPlan): Check {
  const prefix = `${keyPrefix(run)}/${plan.purpose}/${run.checkNumber}/`;
  const { checks } = context.world;
  const last = checks?.key.startsWith(prefix) ? checks : undefined;
  if (last && verdictOf(resultsOf(context, plan, last)) !== 'unknown') return taken(context, run, plan, last);
  const inMs = remainingMs(context, last ? stamp(last.atMs) : plan.since, plan.afterMs);
  if (inMs > 0) return { kind: 'due', inMs, run };
  const number = last ? Number(last.key.slice(prefix.length)) + 1 : 0;
  return asked(context, run, plan, `${prefix}${number}`);
}

function asked(context: Context, run: Run, plan: CheckPlan, key: string): Check {
  const hooks = hasHooks(context, plan.hooks) ? [plan.hooks] : [];
  if (plan.metrics.length + hooks.length === 0)
    return taken(context, run, plan, { key, atMs: context.world.nowMs, readings: [], hooks: [] });
  const metrics = [...metricsById(plan.metrics).keys()];
  const { role, purpose } = plan;
  return {
    kind: 'asked',
    run,
    request: request(context, plan.about ?? run, { key, role, purpose, metrics, hooks }),
  };
}

function resultsOf(context: Context, plan: CheckPlan, outcome: CheckOutcome): CheckResult[] {
  return [
    ...judgeHooks(context, outcome, plan.hooks, plan.purpose),
    ...judge(plan.metrics, outcome, plan.purpose === 'analysis' ? 'analysis' : 'postPromotion'),
  ];
}

function taken(context: Context, run: Run, plan: CheckPlan, outcome: CheckOutcome): Check {
  const used = { ...run, checkNumber: run.checkNumber + 1, lastCheckTime: stamp(outcome.atMs) };
  return { kind: 'answered', results: resultsOf(context, plan, outcome), run: used };
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
