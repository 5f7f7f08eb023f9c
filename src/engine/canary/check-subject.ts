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

/** What queries may name beside the Canary: provider, the workload that the check is about, and the primary it may be compared with. */
export function checkSubject(
  { provider, world, revision }: Seen,
  { role }: Pick<CheckRequest, 'role'>,
): CheckSubject {
  const others = revision && { pods: revision.otherPods, otherPods: revision.pods };
  const primary = { workload: world.primary?.name, pods: others };
  return {
    provider,
    workload: (role === 'primary' ? world.primary : world.target)?.name,
    pods: revision,
    primary,
  };
}
