/**
 * When everything that is watched for a Canary is read anew, since watches may have lost an event: before decisions that need it (S19), and for a
 * change that does not come.
 */

import type { Canary } from '../../api/canary/canary.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { conditionOf, type KubernetesObject } from '../../api/kubernetes.ts';
import type { Decision } from '../../rollout/outcome.ts';
import type { CanaryParts } from './context/context.ts';
import { seeAnew } from './context/namespace-view.ts';
import type { Observation } from './context/observation.ts';
import { kindsByNamespace, kindsOf } from './watches.ts';

/** What was read whole so long ago is fresh enough to give a release up. */
const finalFreshMs = 10_000;
/** For a change that the watches did not deliver, the namespace is not read whole more often. */
const lostFreshMs = 10_000;
/** While a Canary is being deleted, everything is read whole this often. */
const deletionFreshMs = 30_000;

/** Reads everything anew that the decision depends on, unless that was done just now; true: it was read, and has to be decided again. */
export async function readWhole(
  parts: CanaryParts,
  { canary, view, world }: Observation,
  decision: Decision,
): Promise<boolean> {
  const freshMs = isFinal(world.status, decision) ? finalFreshMs : deletionFreshMsOf(world.canary);
  if (freshMs === undefined) return false;
  return seeAnew(parts.clock, view, { freshMs, kinds: kindsOf(canary, parts) });
}

/** Reads everything anew, unless that was done just now, for a change that the watches did not deliver in time; true: it was read. */
export function readAnew(parts: CanaryParts, object: KubernetesObject): Promise<boolean> {
  const [kinds = []] = kindsByNamespace([object], parts).values();
  return seeAnew(parts.clock, parts.namespace(object.metadata.namespace ?? ''), {
    freshMs: lostFreshMs,
    kinds,
  });
}

/** A deletion needs time for what follows when it learns of a lost event. */
export function deletionFreshMsOf({ metadata }: Canary): number | undefined {
  return metadata.deletionTimestamp === undefined ? undefined : deletionFreshMs;
}

/**
 * Whether a release is rejected, held or taken back, the last-known-good is no longer waited for, a person is called, or a Canary that is
 * deleted let go of: by what was observed, which may be less than there is (S19).
 */
function isFinal(before: CanaryStatus, { status: after, actions, events }: Decision): boolean {
  const isKnown = ({ digest, time }: { digest: string; time: string }) =>
    before.rejected?.some((known) => known.digest === digest && known.time === time) === true;
  const state = after.postPromotion?.state;
  const isGivenUp = state === 'Held' || state === 'Reverting';
  return (
    actions.some(({ type }) => type === 'RemoveFinalizer') ||
    (isGivenUp && state !== before.postPromotion?.state) ||
    // Nothing is held where a newer release takes its place in the same decision.
    events.some(({ reason }) => reason === 'LKGNotReady') ||
    (asksForPerson(after) && !asksForPerson(before)) ||
    after.rejected?.some((one) => !isKnown(one)) === true
  );
}

function asksForPerson(status: CanaryStatus): boolean {
  return conditionOf(status, 'Stalled')?.status === 'True';
}
