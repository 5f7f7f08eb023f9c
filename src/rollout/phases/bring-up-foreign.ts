import { carriedBy } from '../capacity.ts';
import { act, type Draft, note, restartProgress } from '../draft.ts';
import { servingPods } from '../readiness.ts';
import { headRelease, type Run } from '../run.ts';
import { pauseCanary, resumeReplicas, scalerOf } from '../scalers.ts';
import type { WorkloadView } from '../world.ts';
import { nameOf } from './admit.ts';

/**
 * The target runs what another tool wrote to it; the pods that tool asks for are left as they are. Pods that were ready before may hold an
 * older config than the one that is to be tried: they go first, and new ones read the new one. Flagger analyses the old one then.
 */
export function bringUpForeign(draft: Draft, run: Run): void {
  const { target, primary } = draft.world;
  if (target?.digest !== run.digest) {
    return note(draft, 'TargetMissing', `the target cannot be read, or does not run ${nameOf(run)} any more`);
  }
  const { digest } = run;
  if (!run.keepsPods && mayHoldOldConfig(draft, target) && servingPods(primary) > 0)
    return act(draft, { type: 'ApplyCanary', digest, replicas: 0 });
  const isGoing = target.desiredReplicas === 0 && (!target.observed || target.replicas > 0);
  if (isGoing) return;
  const scaler = scalerOf(draft.world, 'canary');
  const asked = scaler ? resumeReplicas(scaler) : carriedBy(draft.world);
  const replicas = target.desiredReplicas > 0 ? target.desiredReplicas : asked;
  pauseCanary(draft, false);
  act(draft, { type: 'ApplyCanary', digest, replicas });
  run.broughtUp = true;
  restartProgress(draft, run);
}

function mayHoldOldConfig({ world }: Draft, target: WorkloadView): boolean {
  return (
    headRelease(world)?.hasLiveConfig === true &&
    target.desiredReplicas > 0 &&
    target.updatedReadyReplicas > 0
  );
}
