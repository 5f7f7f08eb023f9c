import type { Canary } from '../../api/canary.ts';
import type { Clock } from '../../api/clock.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { parseCanary } from '../../api/parse.ts';
import { keyOf } from '../canary/checks.ts';
import { isStale } from '../failure.ts';
import type { Cluster, EventSink, Log } from '../ports/ports.ts';
import { type DrillParts, drill } from './drill.ts';
import { drillCondition, writeDrillCondition } from './drill-condition.ts';

/** What scheduled drills are made with. */
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

/** Timers hold no longer than some weeks; a longer wait is made of several. */
const longestWaitMs = 6 * 3_600_000;

/** A schedule that stands still until `start`. One Canary after the other is drilled, so that a round is no burst. */
export function createDrillSchedule(parts: DrillScheduleParts): DrillSchedule {
  const { clock } = parts;
  let stopped = false;
  let cancel = (): void => undefined;
  let round: Promise<void> = Promise.resolve();

  function wait(dueMs: number): void {
    const leftMs = dueMs - clock.nowMs();
    cancel = clock.after(Math.max(1, Math.min(leftMs, longestWaitMs)), () => {
      if (clock.nowMs() < dueMs) return wait(dueMs);
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
    const nowMs = clock.nowMs();
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
  const live = parts.canaries().find((one) => keyOf(one) === keyOf({ metadata }));
  const parsed = live && parseCanary(live);
  if (!parsed?.ok || parsed.value.spec.suspend || parsed.value.metadata.deletionTimestamp) return;
  const canary = parsed.value;
  try {
    const report = await drill(parts, canary);
    await writeDrillCondition(parts.cluster, canary, report, parts.clock.nowMs());
    if (!report.passed) tell(parts, canary, drillCondition(report, parts.clock.nowMs())?.message);
  } catch (error) {
    const fields = { canary: keyOf(canary), err: error };
    if (isStale(error)) parts.log.debug(fields, 'a Canary changed while its last-known-good was drilled');
    else parts.log.warn(fields, 'the last-known-good of a Canary could not be drilled');
  }
}

function tell({ events }: DrillScheduleParts, canary: Canary, message: string | undefined): void {
  if (message !== undefined) events.emit(canary, { type: 'Warning', reason: 'DrillFailed', message });
}
