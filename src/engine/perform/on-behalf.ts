import type { CanaryStatus } from '../../api/canary-status.ts';
import { keyOf } from '../canary/checks.ts';
import type { ActionContext } from './action-context.ts';

/**
 * The same, writing as the account of the Source that holds the Canary's target (design section 2.2): a rollout must not write for somebody
 * what that one may not write. The last-known-good was let in once: going back to it does not depend on what became of the account.
 */
export function onBehalfOfSource(context: ActionContext, digest?: string): ActionContext {
  const { parts, observation } = context;
  const { canary } = observation;
  const { actAs } = parts.heads.inGit(keyOf(canary));
  const good = (canary.status as CanaryStatus | undefined)?.lastKnownGood?.digest;
  if (actAs === undefined || (digest !== undefined && digest === good)) return context;
  return { observation, parts: { ...parts, cluster: parts.cluster.as(actAs) } };
}
