/** What counts as progress of a workload that is waited for (design section 2.3, progressDeadlineSeconds). */

import type { WorkloadView } from '../health/workload-view.ts';
import { type Context, elapsedMs } from './context.ts';
import type { Run } from './run.ts';

/** Pods that bring a rollout forward, `old` ones by going, and how many are asked for. */
interface Counts {
  readonly digest: string;
  readonly updated: number;
  readonly ready: number;
  readonly old: number;
  readonly desired: number;
}

/** Changes with every change of a workload's pods: traffic waits until endpoints had time to follow. */
export function podsKey(view: WorkloadView | undefined): string {
  return view ? `${view.digest ?? ''}:${view.updatedReplicas}:${view.availableReplicas}` : 'absent';
}

/**
 * The best that was seen of a workload so far, given that before; the deadline counts from its last change. Pods that become ready and fall
 * back again and again bring it no further than once. A workload that was whole and loses a pod, or is to get more, starts anew.
 */
export function progressKey(before: string | undefined, view: WorkloadView | undefined): string {
  if (!view) return 'absent';
  const known = parse(before);
  const best = known?.digest === (view.digest ?? '') ? known : undefined;
  const now = view.observed ? countsOf(view) : unseen(best, view);
  if (!best) return format(now);
  if (isWhole(best) && !isWhole(now)) return format(now);
  return format({
    ...now,
    updated: Math.max(best.updated, now.updated),
    ready: Math.max(best.ready, now.ready),
    old: Math.min(best.old, now.old),
  });
}

function countsOf(view: WorkloadView): Counts {
  const { digest = '', updatedReplicas: updated, updatedReadyReplicas: ready } = view;
  const old = Math.max(0, view.replicas - updated);
  return { digest, updated, ready, old, desired: view.desiredReplicas };
}

/** Its controller has not seen the last write yet: what the status counts are pods of the template before. */
function unseen(
  best: Counts | undefined,
  { digest = '', replicas, desiredReplicas: desired }: WorkloadView,
): Counts {
  return best ? { ...best, desired } : { digest, updated: 0, ready: 0, old: replicas, desired };
}

function isWhole({ updated, ready, old, desired }: Counts): boolean {
  return updated >= desired && ready >= desired && old === 0;
}

function format({ digest, updated, ready, old, desired }: Counts): string {
  return `${digest} ${updated} ${ready} ${old} ${desired}`;
}

/** Undefined for what another version wrote. */
function parse(key: string | undefined): Counts | undefined {
  const [, digest, ...counts] = /^(\S*) (\d+) (\d+) (\d+) (\d+)$/.exec(key ?? '') ?? [];
  if (digest === undefined) return undefined;
  const [updated = 0, ready = 0, old = 0, desired = 0] = counts.map(Number);
  return { digest, updated, ready, old, desired };
}

/** The run with when the workload that is waited for last made progress. */
export function tracked(context: Pick<Context, 'now'>, run: Run, view: WorkloadView | undefined): Run {
  const key = progressKey(run.progressKey, view);
  if (run.progressKey === key && run.lastProgressTime !== undefined) return run;
  return { ...run, progressKey: key, lastProgressTime: context.now };
}

/** Milliseconds without progress. */
export function standingMs(context: Context, run: Run): number {
  return elapsedMs(context, run.lastProgressTime);
}

/** The run with its progress clock started anew, for another thing to wait for. */
export function restarted({ now }: Pick<Context, 'now'>, run: Run): Run {
  const { progressKey: _, ...rest } = run;
  return { ...rest, lastProgressTime: now };
}
