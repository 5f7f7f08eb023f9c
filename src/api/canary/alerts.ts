import type { Severity } from '../incident.ts';
import type { AlertSeverity, CanaryAlert } from './analysis.ts';
import type { Canary } from './canary.ts';

const RANK: Readonly<Record<Severity, number>> = { info: 0, warn: 1, error: 2 };
const MAX_ALERTS = 32;
/** Id of the alert to the receiver that flags name. */
export const DEFAULT_ALERT = '(default)';

/** The Canary's alerts by name; a further one of the same name gets a number. */
export function alertsById(canary: Canary): Map<string, CanaryAlert> {
  const byId = new Map<string, CanaryAlert>();
  for (const alert of (canary.spec.analysis?.alerts ?? []).slice(0, MAX_ALERTS)) {
    let id = alert.name.slice(0, 240);
    for (let number = 2; byId.has(id); number += 1) id = `${alert.name.slice(0, 240)} (${number})`;
    byId.set(id, alert);
  }
  return byId;
}

/**
 * Ids of the Canary's alerts for a report of this severity. A Canary without alerts uses the receiver that flags name, if there is one, and
 * sends it every report, as in Flagger.
 */
export function alertsFor(canary: Canary, severity: Severity, hasDefault: boolean): string[] {
  const alerts = [...alertsById(canary)];
  if (alerts.length === 0) return hasDefault ? [DEFAULT_ALERT] : [];
  return alerts.filter(([, alert]) => passes(alert.severity, severity)).map(([id]) => id);
}

/** Whether an alert with this lowest severity is sent for that one. None means info: all are sent (flagger-behaviour 2.19, 10). */
export function passes(lowest: AlertSeverity | undefined, severity: Severity): boolean {
  return RANK[severity] >= RANK[lowest || 'info'];
}
