import { canaryPods } from './capacity.ts';
import { type Draft, now, remainingMs } from './draft.ts';
import { podsKey } from './progress.ts';
import type { Run, Watched } from './run.ts';
import type { WorkloadView, World } from './world.ts';

/**
 * Time between a change of pods and the move of traffic that follows from it, and between a move of traffic and the end of the pods it
 * left, in milliseconds: the data plane learns of endpoints and of weights by different ways, and the one must not overtake the other (S2).
 */
export const SETTLE_MS = 2000;

const KEYS: Readonly<Record<Watched, (world: World) => string>> = {
  route: ({ route }) =>
    route ? `${route.canaryWeight}:${route.matched ?? false}:${route.mirrored ?? false}` : 'absent',
  canary: ({ target }) => podsKey(target),
  primary: ({ primary }) => podsKey(primary),
  standIn: ({ target }) =>
    target ? `${target.digest ?? ''}:${canaryPods(target) > 0}:${oldPods(target)}` : 'absent',
};

function oldPods({ replicas, updatedReplicas }: WorkloadView): number {
  return Math.max(0, replicas - updatedReplicas);
}

/** Remembers what changed since it was seen last. Once per step, before anything is decided. */
export function noteStandings(draft: Draft): void {
  const { run, world } = draft;
  if (!run) return;
  const standing: Run['standing'] = { ...run.standing };
  for (const [what, keyOf] of Object.entries(KEYS) as Array<[Watched, (world: World) => string]>) {
    const key = keyOf(world);
    if (standing[what]?.key !== key) standing[what] = { key, since: now(draft) };
  }
  run.standing = standing;
}

/** The data plane has had no time to follow the last change of this yet; steps again when it had. */
export function isUnsettled(draft: Draft, run: Run, what: Watched): boolean {
  return remainingMs(draft, run.standing?.[what]?.since, SETTLE_MS) > 0;
}
