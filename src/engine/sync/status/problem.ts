/** The alerts of a Source: that it cannot be fetched, rendered or applied, once per change, and that it can again. Pure. */
import type { Incident } from '../../../api/incident.ts';
import type { Condition } from '../../../api/kubernetes.ts';
import { shorten } from '../../../api/limits.ts';
import type { Source, SourceStatus } from '../../../api/source/source.ts';
import { findCondition } from '../../status-patch.ts';

/** Not worth an alert: it is intended, or another alert comes first. */
const expected: ReadonlySet<string> = new Set(['Suspended', 'DependencyNotReady', 'CanaryRejected']);
/** A server that does not answer once is no news. */
const patienceMs = 60_000;

/**
 * The problem that people know of, for the status: the one before until there is another one or the Source is Ready again. What a server does not
 * answer counts once it lasted a minute.
 */
export function problemOf(
  before: SourceStatus['problem'],
  conditions: readonly Condition[],
  nowMs: number,
): SourceStatus['problem'] {
  const ready = findCondition(conditions, 'Ready');
  if (ready?.status === 'True') return undefined;
  if (ready?.status !== 'False' || expected.has(ready.reason) || before?.reason === ready.reason)
    return before;
  const fetched = findCondition(conditions, 'Fetched');
  const sinceMs = Date.parse(fetched?.lastTransitionTime ?? '');
  const isYoung = fetched?.status === 'False' && nowMs - sinceMs < patienceMs;
  return isYoung ? before : { reason: ready.reason, time: new Date(nowMs).toISOString() };
}

/** The news in a change of the status; undefined: none. */
export function newsOfSource(source: Source, next: SourceStatus, nowMs: number): Incident | undefined {
  const before = source.status?.problem;
  const { problem, head } = next;
  if (before?.reason === problem?.reason) return undefined;
  const ready = findCondition(next.conditions, 'Ready');
  const time = problem?.time ?? new Date(nowMs).toISOString();
  const about = {
    key: `source ${problem?.reason ?? 'Ready'} ${time}`,
    time,
    commit: head?.commit ?? '',
    ...(head?.author ? { author: head.author } : {}),
    ...(head?.subject ? { subject: head.subject } : {}),
  };
  const { namespace, name } = source.metadata;
  const who = `Source ${namespace}/${name}`;
  if (!problem)
    return {
      ...about,
      outcome: 'Succeeded',
      severity: 'info',
      reason: 'Applied',
      message: `${who} is Ready again: ${shorten(ready?.message ?? '', 400)}`,
    };
  return {
    ...about,
    outcome: 'Failed',
    severity: 'error',
    reason: problem.reason,
    message: `${who}: ${shorten(ready?.message ?? problem.reason, 450)}`,
    next: { action: 'Holdfast tries again by itself' },
    stays: 'what was applied before stays, and is still reconciled',
    command: `kubectl -n ${namespace} describe source ${name}`,
  };
}
