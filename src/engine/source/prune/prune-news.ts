import { describe } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source.ts';
import { approveAnnotation } from '../../../api/verbs.ts';
import type { ConditionNews } from '../../conditions.ts';
import { listed } from '../listed.ts';
import type { SourceState } from '../source-parts.ts';
import type { NotPruned } from './prune-plan.ts';
import type { PruneResult } from './prune-result.ts';

/** The condition Pruned; undefined where nothing is to be pruned. */
export function prunedNews(
  { spec }: Source,
  { pruned, snapshot }: Pick<SourceState, 'pruned' | 'snapshot'>,
): Omit<ConditionNews, 'type'> | undefined {
  if (spec.prune !== true || !pruned || !snapshot) return undefined;
  const { plan, failures, unread } = pruned;
  if (unread !== undefined) return { status: 'Unknown', reason: 'NotDecided', message: unread };
  const [failure] = failures;
  if (failure)
    return {
      status: 'False',
      reason: failure.reason,
      message: listed(failures.map(({ message }) => message)),
    };
  if (plan.toApprove.length > 0) return toApprove(pruned, snapshot.commit.commit);
  const going = [...plan.waiting, ...plan.handBack.map((object) => ({ object, why: handingBack }))];
  if (going.length > 0) return { status: 'Unknown', reason: 'Pruning', message: listed(going.map(inWords)) };
  const kept = plan.kept.length > 0 ? `; kept: ${listed(plan.kept.map(inWords))}` : '';
  return { status: 'True', reason: 'Pruned', message: `what left Git was deleted${kept}` };
}

/** The news when objects were deleted: one event. */
export function prunedEvent({ removed }: Pick<PruneResult, 'removed'>, commit: string): string | undefined {
  if (removed.length === 0) return undefined;
  return `no more in Git at ${commit.slice(0, 7)}, deleted: ${listed(removed.map(describe))}`;
}

const handingBack = 'its target takes the traffic back first';

function toApprove({ plan }: PruneResult, commit: string): Omit<ConditionNews, 'type'> {
  const { guard, toApprove: objects } = plan;
  const why = guard ?? 'such objects take more with them than themselves';
  const names = listed(objects.map(describe));
  const message = `${objects.length} objects are no more in Git at ${commit.slice(0, 7)}, and ${why}: annotate the Source with ${approveAnnotation}: "${commit}" to delete ${names}`;
  return { status: 'False', reason: 'PruneNeedsApproval', message };
}

function inWords({ object, why }: NotPruned): string {
  return `${describe(object)}: ${why}`;
}
