import type { CheckRequest } from '../../rollout/action.ts';
import type { World } from '../../rollout/world.ts';
import type { CheckSubject } from './checks.ts';

/** What is known of the two sides at the moment of a check. */
interface Seen {
  readonly provider: string;
  readonly world: Pick<World, 'primary' | 'target'>;
  /** Names of pods by their template, where both sides are pods of one workload: those of the newest first. */
  readonly revision?: CheckSubject['pods'];
}

/** What queries may name beside the Canary: provider, the workload that the check is about, and the one it may be compared with. */
export function checkSubject(
  { provider, world, revision }: Seen,
  { role }: Pick<CheckRequest, 'role'>,
): CheckSubject {
  const otherPods = revision && { pods: revision.otherPods, otherPods: revision.pods };
  const [own, other] = role === 'primary' ? [world.primary, world.target] : [world.target, world.primary];
  return { provider, workload: own?.name, pods: revision, other: { workload: other?.name, pods: otherPods } };
}
