/** What counts as progress of a workload that is waited for (design section 2.3, progressDeadlineSeconds). */
import type { WorkloadView } from '../health/workload-view.ts';
import { type Context, elapsedMs, remainingMs } from './context.ts';
import type { Run, Watched } from './run.ts';
import { canaryPods } from './traffic/capacity.ts';
import type { World } from './world.ts';

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
export function withProgress(context: Pick<Context, 'now'>, run: Run, view: WorkloadView | undefined): Run {
  const key = progressKey(run.progressKey, view);
  if (run.progressKey === key && run.lastProgressTime !== undefined) return run;
  return { ...run, progressKey: key, lastProgressTime: context.now };
}

/** Milliseconds without progress. */
export function sinceProgressMs(context: Context, run: Run): number {
  return elapsedMs(context, run.lastProgressTime);
}

/** The run with its progress clock restarted, for something else to wait for. */
export function withProgressReset({ now }: Pick<Context, 'now'>, run: Run): Run {
  const { progressKey: _, ...rest } = run;
  return { ...rest, lastProgressTime: now };
}

/**
 * Time between a change of pods and the move of traffic that follows from it, and between a move of traffic and the end of the pods it
 * left, in milliseconds: the data plane learns of endpoints and of weights by different ways, and the one must not overtake the other (S2).
 */
export const SETTLE_MS = 2000;

const KEYS: Readonly<Record<Watched, (world: World) => string>> = {
  // A move counts from when the gateway took it over (issue 11, 17).
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

/** The run with what changed since it was seen last, stamped. Once per step, before anything is decided. */
export function withLastChanges({ world, now }: Pick<Context, 'world' | 'now'>, run: Run): Run {
  const before = run.standing ?? {};
  const entries = (Object.keys(KEYS) as Watched[]).map((what) => {
    const key = KEYS[what](world);
    const known = before[what];
    return [what, known?.key === key ? known : { key, since: now }] as const;
  });
  return { ...run, standing: Object.fromEntries(entries) };
}

/** Milliseconds until the data plane had time to follow the last change of this; 0 when it had, or nothing is known of it. */
export function settlingMs(context: Context, run: Run | undefined, what: Watched): number {
  const since = run?.standing?.[what]?.since;
  return since === undefined ? 0 : remainingMs(context, since, SETTLE_MS);
}
