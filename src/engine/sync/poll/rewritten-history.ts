/** Whether a rewritten history has to wait for a person (S23, design section 5). */

import { approveAnnotation } from '../../../api/annotations.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import { type CommitInfo, gitPart } from '../../../api/commit.ts';
import { canonicalJson, keyOf } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { PollResult } from '../../../contracts/git.ts';
import type { CanaryPlan } from '../../../release/plan.ts';
import type { Snapshot, SourceParts, SyncContext, SyncProblem } from '../context/context.ts';
import { apart } from '../read/older-commit.ts';
import { readSnapshot } from '../read/read.ts';
import { releaseAt } from '../read/source-heads.ts';
import { approveCommand, isApproved } from './approvals.ts';

/** A history that does not lead on from what is applied. */
export interface Rewritten {
  readonly poll: PollResult;
  readonly appliedBefore: string;
}

/** What is reported while it waits. `gone`: Git does not give out the applied commit any more, and no store of ours holds it. */
export function historyRewritten(
  source: Source,
  { poll: { head, refName }, appliedBefore }: Rewritten,
  applied: 'kept' | 'gone',
): SyncProblem {
  const before = appliedBefore.slice(0, 7);
  const kept =
    applied === 'kept'
      ? `${before}, which stays applied`
      : `${before}, which stays in the cluster but is gone from Git, so it is not reconciled`;
  return {
    condition: 'Ready',
    reason: 'HistoryRewritten',
    message: `${refName} was rewritten: ${head.commit.slice(0, 7)} does not descend from ${kept}; to accept it, run ${approveCommand(source, requestFor(source, head.commit))}, or set spec.ref.rewrite: allow`,
  };
}

/** A value that approved this commit before is used up, and to set it again would change nothing. */
function requestFor({ metadata }: Source, commit: string): string {
  const request = `rewrite:${commit}`;
  const [before, ...more] = (metadata.annotations?.[approveAnnotation] ?? '').split('@');
  return before === request ? `${request}${'@again'.repeat(more.length + 1)}` : request;
}

/**
 * False when no approval is needed: head descends from what is applied, the Source allows it, it was approved for this very commit, or
 * head leads only to what is proven: nothing but releases differs, and each Canary's is its last-known-good or the one it follows now.
 */
export async function needsApproval(context: SyncContext, poll: PollResult): Promise<boolean> {
  const { parts, source, state } = context;
  const { head, kind } = poll;
  if (kind !== 'rewritten' || source.spec.ref.rewrite === 'allow') return false;
  const { commit } = head;
  if (isApproved(source, state, { verb: 'rewrite', hashes: [commit], commit })) return false;
  const { snapshot } = state;
  if (!snapshot) return true;
  // Looked at once for each pair of commits: rendering head costs more than a poll.
  const pair = `${snapshot.commit.commit} ${commit}`;
  if (state.rewritten?.pair !== pair) {
    const rewritten = await readHead(context, head);
    const isProven =
      rewritten !== undefined &&
      rewritten.problems.length === 0 &&
      contentOf(snapshot) === contentOf(rewritten) &&
      rewritten.plans.every((plan) => leadsToProven(parts, plan, rewritten));
    state.rewritten = { pair, isProven };
  }
  return !state.rewritten.isProven;
}

/** Undefined when head cannot be read: what is applied goes on being looked after meanwhile. */
async function readHead(context: SyncContext, head: CommitInfo): Promise<Snapshot | undefined> {
  const { parts, state, signal } = context;
  try {
    return await readSnapshot(apart(context), { commit: head, signal });
  } catch (error) {
    signal.throwIfAborted();
    parts.log.debug({ err: error, source: state.key }, 'could not read a rewritten history');
    return undefined;
  }
}

/** Everything but the releases. */
function contentOf({ rest, plans }: Snapshot): string {
  return canonicalJson([rest.map(({ object }) => object), plans.map((plan) => keyOf(plan.canary))]);
}

function leadsToProven(parts: SourceParts, plan: CanaryPlan, there: Snapshot): boolean {
  const digest = plan.state === 'release' ? releaseAt(parts, plan, there)?.ok?.digest : undefined;
  if (digest === undefined) return false;
  const key = keyOf(plan.canary);
  const live = parts.canary(plan.canary);
  const { lastKnownGood } = (live?.status ?? {}) as CanaryStatus;
  const proven = [lastKnownGood?.digest, parts.heads.of(key).release?.digest];
  return proven.some((one) => one !== undefined && gitPart(one) === gitPart(digest));
}
