/** Defaults of a Canary: Flagger's, and ours for the fields that Flagger does not have. */
import type { OnFailure } from './canary/analysis.ts';
import type { Canary } from './canary/canary.ts';
import type { CanaryMetric } from './canary/metrics.ts';
import { durationOr, parseDurationMs } from './time.ts';

/** Name of the apex Service: `service.name`, or else the target's. */
export function apexName(canary: Canary): string {
  return canary.spec.service?.name || canary.spec.targetRef.name;
}

/** Milliseconds between two checks: 60 s if absent or unreadable, never below the floor. */
export function analysisIntervalMs(canary: Canary, floorMs: number): number {
  return Math.max(floorMs, durationOr(canary.spec.analysis.interval, 60_000));
}

/** Failed checks that stop a release; zero and below count as one. */
export function failureThreshold(threshold: number | undefined): number {
  return Math.max(1, threshold ?? 0);
}

/** Both sides are pods of one workload, whose own rolling update is held at the step (ADR 21). */
export function sharesWorkload(provider: string | undefined): boolean {
  return provider === 'native';
}

/** Whether session affinity works with this routing provider; others leave the field out. */
export function keepsSessions(provider: string): boolean {
  return ['gatewayapi:v1', 'gatewayapi:v1beta1', 'istio'].includes(provider);
}

/** Whether this provider copies requests to the canary before the first step of its weight; others copy them in blue/green only. */
export function mirrorsBeforeSteps(provider: string): boolean {
  return provider === 'istio';
}

/** Milliseconds a workload may stay without progress: 600 s if absent. */
export function progressDeadlineMs(canary: Canary): number {
  return (canary.spec.progressDeadlineSeconds ?? 600) * 1_000;
}

/** Milliseconds of a metric's window: one minute if absent or unreadable. */
export function metricWindowMs(metric: CanaryMetric): number {
  return durationOr(metric.interval, 60_000);
}

/** Milliseconds of one attempt of a webhook: 10 s if absent, unreadable or shorter than two characters. */
export function webhookTimeoutMs(timeout: string | undefined): number {
  return durationOr(timeout !== undefined && timeout.length < 2 ? undefined : timeout, 10_000);
}

/** `postPromotion` with its defaults filled in (design section 2.3). Times are in milliseconds. */
export interface EffectivePostPromotion {
  progressDeadlineMs: number;
  intervalMs: number;
  successThreshold: number;
  threshold: number;
  onFailure: OnFailure;
  maxRestarts: number | undefined;
  metrics: readonly CanaryMetric[];
}

/** Defaults of `postPromotion`; a Canary without it gets them all. */
export function effectivePostPromotion(canary: Canary, floorMs: number): EffectivePostPromotion {
  const given = canary.spec.postPromotion ?? {};
  const intervalMs = given.interval === undefined ? undefined : parseDurationMs(given.interval);
  return {
    progressDeadlineMs:
      given.progressDeadlineSeconds === undefined
        ? progressDeadlineMs(canary)
        : given.progressDeadlineSeconds * 1_000,
    intervalMs: Math.max(floorMs, intervalMs ?? analysisIntervalMs(canary, floorMs)),
    successThreshold: given.successThreshold ?? 1,
    threshold: failureThreshold(given.failureThreshold ?? given.threshold),
    onFailure: given.onFailure === 'manual' ? 'halt' : (given.onFailure ?? 'auto'),
    maxRestarts: given.expect?.maxRestarts,
    metrics: given.metrics ?? [],
  };
}
