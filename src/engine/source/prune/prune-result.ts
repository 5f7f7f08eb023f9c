import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { PrunePlan } from './prune-plan.ts';

/** What pruning led to. */
export interface PruneResult {
  readonly plan: PrunePlan;
  /** Objects that were deleted now. */
  readonly removed: readonly KubernetesObject[];
  readonly failures: readonly { readonly reason: string; readonly message: string }[];
  /** Why nothing could be decided; undefined: it was. */
  readonly unread: string | undefined;
  /** It is not over: to be looked at again although Git has no news. */
  readonly isPending: boolean;
  /** The approval that it was decided under. */
  readonly approval: string | undefined;
}
