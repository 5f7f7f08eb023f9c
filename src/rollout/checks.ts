import type { CanaryMetric } from '../api/canary-metric.ts';
import type { CheckResult } from '../api/canary-status.ts';
import type { HookType } from '../api/hooks.ts';
import type { CheckRequest } from './action.ts';
import { type Draft, remainingMs } from './draft.ts';
import { hasHooks, judgeHooks, keyPrefix, request } from './hooks.ts';
import type { Run } from './run.ts';
import { sinceMs, stamp } from './units.ts';
import { judge, verdictOf } from './verdict.ts';
import type { CheckOutcome } from './world.ts';

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

/**
 * One check: asked when it is due, answered in a later step, used once. Returns its results when they are there; until then the draft
 * holds the request or the wake-up. A check without metrics and webhooks answers itself.
 */
export function check(draft: Draft, run: Run, plan: CheckPlan): CheckResult[] | undefined {
  const answered = answerTo(draft, run, plan);
  const key = keyOf(run, plan);
  if (!answered && remainingMs(draft, plan.since, plan.afterMs) > 0) return undefined;
  if (!answered && ask(draft, run, plan, key)) return undefined;
  const outcome = answered ?? { key, atMs: draft.world.nowMs, readings: [], hooks: [] };
  return take(draft, run, outcome, resultsOf(draft, plan, outcome));
}

/** The answer that has come; one from before the traffic was as it is now says nothing of it (S4), and another one is asked for. */
function answerTo({ world }: Draft, run: Run, plan: CheckPlan): CheckOutcome | undefined {
  const { checks } = world;
  if (checks?.key !== keyOf(run, plan)) return undefined;
  if (plan.since === undefined || sinceMs(checks.atMs, plan.since) >= plan.afterMs) return checks;
  run.checkNumber += 1;
  return undefined;
}

function keyOf(run: Run, { purpose }: CheckPlan): string {
  return `${keyPrefix(run)}/${purpose}/${run.checkNumber}`;
}

/**
 * As `check`, for a wait without end: an answer that says nothing changes nothing, so that waiting writes no status (L2). Its key goes on
 * from the answer before; after a restart there is none, and no answer that an older key could be taken for.
 */
export function quietCheck(draft: Draft, run: Run, plan: CheckPlan): CheckResult[] | undefined {
  const prefix = `${keyPrefix(run)}/${plan.purpose}/${run.checkNumber}/`;
  const last = draft.world.checks?.key.startsWith(prefix) ? draft.world.checks : undefined;
  const results = last && resultsOf(draft, plan, last);
  if (last && results && verdictOf(results) !== 'unknown') return take(draft, run, last, results);
  if (remainingMs(draft, last ? stamp(last.atMs) : plan.since, plan.afterMs) > 0) return undefined;
  const number = last ? Number(last.key.slice(prefix.length)) + 1 : 0;
  if (ask(draft, run, plan, `${prefix}${number}`)) return undefined;
  const outcome = { key: prefix, atMs: draft.world.nowMs, readings: [], hooks: [] };
  return take(draft, run, outcome, resultsOf(draft, plan, outcome));
}

/** Puts the request into the draft; false when there is nothing to ask. */
function ask(draft: Draft, run: Run, plan: CheckPlan, key: string): boolean {
  const hooks = hasHooks(draft, plan.hooks) ? [plan.hooks] : [];
  if (plan.metrics.length + hooks.length === 0) return false;
  const metrics = plan.metrics.map((metric) => metric.name);
  request(draft, plan.about ?? run, { key, role: plan.role, purpose: plan.purpose, metrics, hooks });
  return true;
}

function resultsOf(draft: Draft, plan: CheckPlan, outcome: CheckOutcome): CheckResult[] {
  return [
    ...judgeHooks(draft, outcome, plan.hooks, plan.purpose),
    ...judge(plan.metrics, outcome, plan.purpose === 'analysis' ? 'analysis' : 'postPromotion'),
  ];
}

function take(draft: Draft, run: Run, outcome: CheckOutcome, results: CheckResult[]): CheckResult[] {
  run.checkNumber += 1;
  run.lastCheckTime = stamp(outcome.atMs);
  draft.status.checks = results;
  return results;
}

/** The check after promotion: the primary's metrics and webhooks, once per interval. */
export function primaryCheck({ plan: { postPromotion } }: Draft, run: Run): CheckPlan {
  return {
    role: 'primary',
    purpose: 'postPromotion',
    metrics: postPromotion.metrics,
    hooks: 'post-promotion',
    since: later(run.stepTime, run.lastCheckTime),
    afterMs: postPromotion.intervalMs,
  };
}

/** The later of two stamps; a check counts from the last one or from the last change of traffic. */
export function later(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Date.parse(a) >= Date.parse(b) ? a : b;
}
