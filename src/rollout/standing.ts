import { canaryPods } from './capacity.ts';
import { type Context, remainingMs } from './context.ts';
import { podsKey } from './progress.ts';
import type { Run, Watched } from './run.ts';
import type { World } from './world.ts';

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
export function withStandings({ world, now }: Pick<Context, 'world' | 'now'>, run: Run): Run {
  const before = run.standing ?? {};
  const entries = (Object.keys(KEYS) as Watched[]).map((what) => {
    const key = KEYS[what](world);
    const known = before[what];
    return [what, known?.key === key ? known : { key, since: now }] as const;
  });
  return { ...run, standing: Object.fromEntries(entries) };
}

/** Milliseconds until the data plane had time to follow the last change of this; 0 when it had, or nothing is known of it. */
export function unsettledMs(context: Context, run: Run | undefined, what: Watched): number {
  const since = run?.standing?.[what]?.since;
  return since === undefined ? 0 : remainingMs(context, since, SETTLE_MS);
}
