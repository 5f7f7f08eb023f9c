import type { Registry } from 'prom-client';
import type { CanaryStatus } from '../api/canary-status.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { gauge, named } from './gauge.ts';

/** Conditions that alarms are made of; the others follow from them. */
const shown: ReadonlySet<string> = new Set(['Ready', 'Stalled', 'Held', 'RollbackReady']);

/** What alarms ask that no metric of Flagger says: conditions with their reason, and alerts that nobody got. */
export function addConditionMetrics(
  registry: Registry,
  sources: { canaries(): readonly KubernetesObject[] },
): void {
  gauge(
    registry,
    'holdfast_canary_condition',
    '1 for the present status and reason of a condition',
    (metric) => {
      metric.reset();
      for (const canary of sources.canaries()) {
        for (const { type, status, reason = '' } of statusOf(canary).conditions ?? []) {
          if (shown.has(type)) metric.set({ ...named(canary), type, status, reason }, 1);
        }
      }
    },
    ['name', 'namespace', 'type', 'status', 'reason'],
  );
  gauge(
    registry,
    'holdfast_alerts_not_sent',
    'Alerts of the last news of a Canary that could not be sent',
    (metric) => {
      metric.reset();
      for (const canary of sources.canaries()) metric.set(named(canary), notSent(statusOf(canary)));
    },
    ['name', 'namespace'],
  );
}

function statusOf({ status }: KubernetesObject): CanaryStatus {
  return (status ?? {}) as CanaryStatus;
}

function notSent({ incidents = [] }: CanaryStatus): number {
  return incidents.flatMap(({ alerts = [] }) => alerts).filter(({ state }) => state === 'failed').length;
}
