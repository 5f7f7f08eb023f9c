/** The report, with its alerts, of what stops a Canary outside of its rollout, as a write that is refused or a spec that is not valid. */

import { alertsFor, type Canary } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import type { Incident } from '../../../api/incident.ts';
import { conditionOf } from '../../../api/kubernetes.ts';
import { limits, shorten } from '../../../api/limits.ts';
import { sinceMs, stamp } from '../../../api/time.ts';
import { MAX_TEXT, toldTo, unreportedKey } from '../../../rollout/incident.ts';
import type { Failure } from '../../failure.ts';
import type { CanaryParts } from '../context/context.ts';

/** What ends sooner, as while rights are granted or a webhook starts again, calls nobody. */
const patienceMs = 60_000;

/** The status with such a report once a failure that only a person can end has been `Stalled` for a minute. */
export function withStopped(
  { clock, options }: Pick<CanaryParts, 'clock' | 'options'>,
  canary: Canary,
  status: CanaryStatus,
  failure: Failure | undefined,
): CanaryStatus {
  const nowMs = clock.nowMs();
  if (!failure) return status;
  const since = stalledSince(canary, failure);
  if (since === undefined || sinceMs(nowMs, since) < patienceMs) return status;
  const { reason } = failure;
  const { incidents = [], run } = status;
  const stopped = `stopped/${reason}`;
  const goesOn = incidents.some(({ key, time }) => `${key}/`.startsWith(`${stopped}/`) && time >= since);
  const key = goesOn ? undefined : unreportedKey(nowMs, status, [stopped, run?.digest ?? '']);
  if (key === undefined) return status;
  const alerts = alertsFor(canary, 'warn', options.hasDefaultAlert === true);
  const incident: Incident = {
    key,
    time: stamp(nowMs),
    outcome: 'Stopped',
    severity: 'warn',
    reason,
    message: shorten(failure.message, MAX_TEXT),
    commit: run?.commit ?? '',
    command: `holdfast status canary/${canary.metadata.name} -n ${canary.metadata.namespace}`,
    ...toldTo(status, alerts),
  };
  return { ...status, incidents: [incident, ...incidents].slice(0, limits.statusIncidents) };
}

/** Milliseconds until there is such a report, where nothing else would cause a look at the Canary by then; undefined: it was made, or there is none. */
export function reportDueMs(
  { clock }: Pick<CanaryParts, 'clock'>,
  canary: Canary,
  failure: Failure,
): number | undefined {
  if (failure.transient) return undefined;
  const since = stalledSince(canary, failure);
  const leftMs = patienceMs - (since === undefined ? 0 : sinceMs(clock.nowMs(), since));
  return leftMs > 0 ? leftMs : undefined;
}

/** Since when the Canary as read is `Stalled` for a failure that only a person can end. */
function stalledSince({ status }: Canary, { reason, transient }: Failure): string | undefined {
  const stalled = conditionOf(status, 'Stalled');
  if (transient || stalled?.status !== 'True' || stalled.reason !== reason) return undefined;
  return stalled.lastTransitionTime ?? '';
}
