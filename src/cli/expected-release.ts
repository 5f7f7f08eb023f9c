import { lastKnownGood, runOf } from '../rollout/run.ts';
import type { World } from '../rollout/world.ts';

/** Names a release. */
export interface ExpectedRelease {
  readonly digest: string;
  readonly commit: string;
  readonly subject: string;
}

/**
 * The release that must be on the primary: the one under way once it has passed its analysis and until it is reverted, else the
 * last-known-good. Undefined while nothing has proven itself.
 */
export function expectedRelease(world: World): ExpectedRelease | undefined {
  const run = runOf(world.status);
  const isPast = run !== undefined && world.status.postPromotion !== undefined && !run.revert;
  if (isPast) return run;
  const good = lastKnownGood(world);
  return good && { digest: good.digest, commit: good.commit.commit, subject: good.commit.subject };
}
