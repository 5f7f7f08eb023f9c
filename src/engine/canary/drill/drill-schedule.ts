import type { Canary } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import { type Clock, calendarOf } from '../../../api/clock.ts';
import { parseCanary } from '../../../api/kinds/parse.ts';
import {
  type Condition,
  type KubernetesObject,
  namespacedName,
  referenceOf,
  versionOf,
} from '../../../api/kubernetes.ts';
import type { Cluster, EventSink, Log } from '../../../contracts/cluster.ts';
import { isStale } from '../../failure.ts';
import { type ConditionNews, observedAt, withCondition } from '../../status-patch.ts';
import { inForce } from '../status/spec-in-force.ts';
import { type DrillReport, drill } from './drill.ts';
import type { DrillParts } from './objects.ts';

/** What scheduled drills need. */
export interface DrillScheduleParts extends DrillParts {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  /** The Canaries that are ours, as watched. */
  readonly canaries: () => readonly KubernetesObject[];
  /** Milliseconds until the next round. */
  readonly nextDelayMs: (nowMs: number) => number;
}

/** Rounds of drills over all Canaries, at the times of the schedule. */
export interface DrillSchedule {
  start(): void;
  /** No more drills; resolves when the one under way has ended. */
  stop(): Promise<void>;
}

/** Timers are limited to some weeks; a longer wait is made of several. */
const longestWaitMs = 6 * 3_600_000;

/** Does nothing before `start`. Canaries are drilled one after the other, so that a round is no burst. */
export function createDrillSchedule(parts: DrillScheduleParts): DrillSchedule {
  const { clock } = parts;
  let stopped = false;
  let cancel = (): void => undefined;
  let round: Promise<void> = Promise.resolve();

  /** By the calendar, which may be set meanwhile. */
  function wait(dueMs: number): void {
    const leftMs = dueMs - calendarOf(clock);
    cancel = clock.after(Math.max(1, Math.min(leftMs, longestWaitMs)), () => {
      if (calendarOf(clock) < dueMs) return wait(dueMs);
      round = drillAll();
    });
  }

  async function drillAll(): Promise<void> {
    for (const { metadata } of parts.canaries()) {
      if (stopped) return;
      await drillOne(parts, metadata);
    }
    if (!stopped) next();
  }

  function next(): void {
    const nowMs = calendarOf(clock);
    wait(nowMs + parts.nextDelayMs(nowMs));
  }

  return {
    start: next,
    async stop() {
      stopped = true;
      cancel();
      await round;
    },
  };
}

/** Never throws: what cannot be asked now is asked in the next round. A Canary that is suspended is left alone (S26). */
async function drillOne(parts: DrillScheduleParts, metadata: KubernetesObject['metadata']): Promise<void> {
  const live = parts.canaries().find((one) => namespacedName(one) === namespacedName({ metadata }));
  const parsed = live && parseCanary(inForce(live));
  if (!parsed?.ok || parsed.value.spec.suspend || parsed.value.metadata.deletionTimestamp) return;
  const canary = parsed.value;
  try {
    const report = await drill(parts, canary);
    await writeDrillCondition(parts.cluster, canary, report, parts.clock.nowMs());
    const message = drillCondition(report, parts.clock.nowMs())?.message;
    if (!report.passed && message !== undefined)
      parts.events.emit(canary, { type: 'Warning', reason: 'DrillFailed', message });
  } catch (error) {
    const fields = { canary: namespacedName(canary), err: error };
    if (isStale(error)) parts.log.debug(fields, 'a Canary changed while its last-known-good was drilled');
    else parts.log.warn(fields, 'the last-known-good of a Canary could not be drilled');
  }
}

/** The condition RollbackReady after a drill; undefined while there is nothing to go back to. */
function drillCondition(report: DrillReport, nowMs: number): ConditionNews | undefined {
  const { release, passed, findings, unseen, objects } = report;
  if (!release) return undefined;
  const when = `drilled at ${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  const name = release.subject
    ? `${release.commit.slice(0, 7)} "${release.subject}"`
    : release.commit.slice(0, 7);
  const accepted =
    unseen.length === 0
      ? `the cluster would take all ${objects} objects of ${name}; images were not pulled`
      : `nothing of ${name} would be refused; images were not pulled; not tested: ${unseen.map(({ object, why }) => `${object}: ${why}`).join('; ')}`;
  const message = passed
    ? `${when}: ${accepted}`
    : `${when}: ${name} would be refused: ${findings.map((finding) => `${finding.object}: ${finding.message}`).join('; ')}`;
  return {
    type: 'RollbackReady',
    status: passed ? 'True' : 'False',
    reason: passed ? 'DrillPassed' : 'DrillFailed',
    message,
  };
}

/** A Canary whose status changes faster than this many times is left to the next drill. */
const tries = 3;

/**
 * Writes the result to the Canary, and nothing else; over exactly the version that was read, once more when that changed meanwhile. Left
 * alone: a Canary with another last-known-good by now, and a damaged record, which is the rollout's to report. Throws a conflict when
 * the Canary changes all the time.
 */
export async function writeDrillCondition(
  cluster: Pick<Cluster, 'get' | 'patch'>,
  canary: Canary,
  report: DrillReport,
  nowMs: number,
): Promise<void> {
  const news = drillCondition(report, nowMs);
  let current: KubernetesObject | undefined = canary;
  for (let count = 1; news && current; count += 1) {
    const patch = patchOf(current, report, news, nowMs);
    if (!patch) return;
    try {
      await cluster.patch(referenceOf(current), patch, 'status');
      return;
    } catch (error) {
      if (!isStale(error) || count === tries) throw error;
      current = await cluster.get(referenceOf(current));
    }
  }
}

function patchOf(
  live: KubernetesObject,
  { release }: DrillReport,
  news: ConditionNews,
  nowMs: number,
): Record<string, unknown> | undefined {
  const { conditions: before = [], lastKnownGood } = (live.status ?? {}) as CanaryStatus;
  const damaged = before.some(({ type, reason }) => type === 'RollbackReady' && reason === 'RecordDamaged');
  if (damaged || lastKnownGood?.digest !== release?.digest) return undefined;
  const conditions: Condition[] = withCondition(before, { ...news, ...observedAt(live) }, nowMs);
  return { metadata: versionOf(live), status: { conditions } };
}
