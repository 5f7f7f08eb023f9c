/** What counts as progress of a workload that is waited for (design section 2.3, progressDeadlineSeconds). */

import { canaryPods } from '../health/readiness.ts';
import type { WorkloadView } from '../health/workload-view.ts';
import { type Context, elapsedMs, remainingMs } from './context.ts';
import type { Run, Watched } from './run.ts';
import type { World } from './world.ts';

/** Pods of a workload: `updated` and `ready` ones make progress by coming, `old` ones by going; `desired` are asked for. */
interface Counts {
  readonly digest: string;
  readonly updated: number;
  readonly ready: number;
  readonly old: number;
  readonly desired: number;
}

/** Changes with every change of a workload's pods, after which traffic waits until endpoints had time to follow. */
export function podsKey(view: WorkloadView | undefined): string {
  return view ? `${view.digest ?? ''}:${view.updatedReplicas}:${view.availableReplicas}` : 'absent';
}

/**
 * The best counts of a workload so far, given the key before; the deadline counts from its last change. Pods that become ready and unready
 * again and again are progress only once. A workload that was complete and loses a pod, or is to get more, starts over.
 */
export function progressKey(before: string | undefined, view: WorkloadView | undefined): string {
  if (!view) return 'absent';
  const known = parse(before);
  const best = known?.digest === (view.digest ?? '') ? known : undefined;
  const now = countsOf(view, best);
  const isRestarted = best && isComplete(best) && !isComplete(now);
  const updated = best && !isRestarted ? Math.max(best.updated, now.updated) : now.updated;
  const ready = best && !isRestarted ? Math.max(best.ready, now.ready) : now.ready;
  const old = best && !isRestarted ? Math.min(best.old, now.old) : now.old;
  return `${now.digest} ${updated} ${ready} ${old} ${now.desired}`;
}

/** Until its controller has observed the last write, the status counts pods of the template before. */
function countsOf(view: WorkloadView, best: Counts | undefined): Counts {
  const { digest = '', replicas, updatedReplicas: updated, desiredReplicas: desired } = view;
  if (!view.observed)
    return best ? { ...best, desired } : { digest, updated: 0, ready: 0, old: replicas, desired };
  const old = Math.max(0, replicas - updated);
  return { digest, updated, ready: view.updatedReadyReplicas, old, desired };
}

function isComplete({ updated, ready, old, desired }: Counts): boolean {
  return updated >= desired && ready >= desired && old === 0;
}

/** Undefined for a key of another version. */
function parse(key: string | undefined): Counts | undefined {
  const [, digest, ...counts] = /^(\S*) (\d+) (\d+) (\d+) (\d+)$/.exec(key ?? '') ?? [];
  if (digest === undefined) return undefined;
  const [updated = 0, ready = 0, old = 0, desired = 0] = counts.map(Number);
  return { digest, updated, ready, old, desired };
}

/** The run with the time when the workload it waits for last made progress. */
export function withProgress(context: Pick<Context, 'now'>, run: Run, view: WorkloadView | undefined): Run {
  const key = progressKey(run.progressKey, view);
  if (run.progressKey === key && run.lastProgressTime !== undefined) return run;
  return { ...run, progressKey: key, lastProgressTime: context.now };
}

/** Milliseconds without progress. */
export function sinceProgressMs(context: Context, run: Run): number {
  return elapsedMs(context, run.lastProgressTime);
}

/** The run with its progress deadline restarted, to wait for something else. */
export function withProgressReset({ now }: Pick<Context, 'now'>, run: Run): Run {
  const { progressKey: _, ...rest } = run;
  return { ...rest, lastProgressTime: now };
}

/**
 * Milliseconds between a change of pods and the move of traffic that depends on it, and between a move of traffic and the end of the pods
 * that had it: the data plane learns of endpoints and of weights in different ways, and must know both (S2).
 */
export const SETTLE_MS = 2000;

const KEYS: Readonly<Record<Watched, (world: World) => string>> = {
  // A move counts from when the gateway accepted it (issue 11, 17).
  route: ({ route }) =>
    route
      ? `${route.canaryWeight}:${route.matched ?? false}:${route.mirrored ?? false}:${route.accepted}`
      : 'absent',
  canary: ({ target }) => podsKey(target),
  primary: ({ primary }) => podsKey(primary),
  standIn: ({ target }) =>
    target
      ? `${target.digest ?? ''}:${canaryPods(target) > 0}:${Math.max(0, target.replicas - target.updatedReplicas)}`
      : 'absent',
};

/** The run with the time of each last change of route and pods. Called once per step, before anything is decided. */
export function withLastChanges({ world, now }: Pick<Context, 'world' | 'now'>, run: Run): Run {
  const before = run.standing ?? {};
  const entries = (Object.keys(KEYS) as Watched[]).map((what) => {
    const key = KEYS[what](world);
    const known = before[what];
    return [what, known?.key === key ? known : { key, since: now }] as const;
  });
  return { ...run, standing: Object.fromEntries(entries) };
}

/** Milliseconds until the data plane had time to follow the last change; 0 if it had, or no change is known. */
export function settlingMs(context: Context, run: Run | undefined, what: Watched): number {
  const since = run?.standing?.[what]?.since;
  return since === undefined ? 0 : remainingMs(context, since, SETTLE_MS);
}
