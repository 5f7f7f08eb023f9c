import type { CanaryStatus } from '../../api/canary-status.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { PeersView } from '../../rollout/world.ts';
import { keyOf } from './checks.ts';

const nobody: PeersView = { verifying: 0, failingNow: 0, failedTimes: [] };

/**
 * The other Canaries after promotion, from their statuses as watched. Only a Canary that verifies or is held has a use for it; for the
 * others nothing is counted.
 */
export function peersOf(all: readonly KubernetesObject[], canary: KubernetesObject): PeersView {
  if (!isVerifying(statusOf(canary))) return nobody;
  const own = keyOf(canary);
  const others = all.filter((other) => keyOf(other) !== own).map(statusOf);
  return {
    verifying: others.filter(isVerifying).length,
    failingNow: others.filter(isHeldTogether).length,
    failedTimes: others.flatMap(failedTime),
  };
}

function isVerifying({ postPromotion }: CanaryStatus): boolean {
  return postPromotion?.state === 'Verifying' || postPromotion?.state === 'Held';
}

function isHeldTogether({ postPromotion }: CanaryStatus): boolean {
  return postPromotion?.state === 'Held' && postPromotion.reason === 'SharedCause';
}

/** When its newest release was found bad by checks; the rejection stays when the release has ended. */
function failedTime({ rejected }: CanaryStatus): string[] {
  const newest = rejected?.findLast(({ reason }) => reason === 'ChecksFailed');
  return newest ? [newest.time] : [];
}

function statusOf({ status }: KubernetesObject): CanaryStatus {
  return (status ?? {}) as CanaryStatus;
}
