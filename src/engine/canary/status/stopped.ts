/** The report, with its alerts, of what stops a Canary outside of its rollout, as a write that is refused or a spec that is not valid. */

import { alertsFor, type Canary } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import type { Incident } from '../../../api/incident.ts';
import { limits, shorten } from '../../../api/limits.ts';
import { sinceMs } from '../../../api/time.ts';
import type { Failure } from '../../failure.ts';
import { findCondition } from '../../status-patch.ts';
import type { CanaryParts } from '../context/context.ts';

/** What ends sooner, as while rights are granted or a webhook starts again, calls nobody. */
const patienceMs = 60_000;
/** What comes back is told again after this time, as what stops a rollout. */
const againMs = 3_600_000;
const messageCharacters = 512;

/** The status with such a report once a failure that only a person can end has been `Stalled` for a minute. */
export function withStopped(
  { clock, options }: Pick<CanaryParts, 'clock' | 'options'>,
  canary: Canary,
  status: CanaryStatus,
  failure: Failure | undefined,
): CanaryStatus {
  const nowMs = clock.nowMs();
  const stalled = findCondition(canary.status?.conditions, 'Stalled');
  if (!failure || failure.transient || stalled?.status !== 'True' || stalled.reason !== failure.reason)
    return status;
  const { reason, lastTransitionTime: since = '' } = stalled;
  if (sinceMs(nowMs, since) < patienceMs) return status;
  const { incidents = [], run } = status;
  const key = `stopped/${reason}`;
  const known = incidents.find((one) => one.key === key || one.key.startsWith(`${key}/`));
  if (known && (known.time >= since || sinceMs(nowMs, known.time) < againMs)) return status;
  const time = new Date(nowMs).toISOString();
  const alerts = alertsFor(canary, 'warn', options.hasDefaultAlert === true);
  const incident: Incident = {
    key: known ? `${key}/${time}` : key,
    time,
    outcome: 'Stopped',
    severity: 'warn',
    reason,
    message: shorten(failure.message, messageCharacters),
    commit: run?.commit ?? '',
    serving: (status.serving ?? []).slice(0, 4).map(({ digest: _, ...row }) => row),
    command: `holdfast status canary/${canary.metadata.name} -n ${canary.metadata.namespace}`,
    ...(alerts.length > 0 ? { alerts: alerts.map((name) => ({ name, state: 'waiting' as const })) } : {}),
  };
  return { ...status, incidents: [incident, ...incidents].slice(0, limits.statusIncidents) };
}
