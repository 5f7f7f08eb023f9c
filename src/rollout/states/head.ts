/** What Git says while a release is under way (design section 5): the table of states names the rule of each. */
import type { Context } from '../context.ts';
import type { Outcome } from '../outcome.ts';
import { rejectionOf } from '../run.ts';
import type { RunState } from '../state.ts';
import { headForRun } from '../windows.ts';
import { describeRelease, type ReleaseView } from '../world.ts';
import { admit } from './admit.ts';
import { end } from './ending.ts';
import { startRevert } from './hold-or-revert.ts';

/** How a state follows head. */
export type HeadRule =
  /** The last-known-good ends the release, a rejected one does, and a newer one takes its place. */
  | 'replaces'
  /** The last-known-good takes it back at once; a newer one waits for the end of this one, or for the state's own rule. */
  | 'takesBack'
  /** Nothing but the state itself. */
  | 'ownRule';

/** What follows from head in a state with this rule; undefined: nothing. */
export function followHead(context: Context, state: RunState, rule: HeadRule): Outcome | undefined {
  const head = headForRun(context, state.run);
  if (!head || head.digest === state.run.digest || rule === 'ownRule') return undefined;
  if (rule === 'takesBack')
    return head.digest === context.good?.digest ? revertedInGit(context, state, head) : undefined;
  const { run } = state;
  const side = run.side ? { side: run.side } : {};
  return endedByGit(context, state, head) ?? admit(context, head, { before: run, ...side });
}

/** Before the first write to the primary: head went back to the last-known-good, or on to a release that was rejected. */
export function endedByGit(context: Context, state: RunState, head: ReleaseView): Outcome | undefined {
  if (head.digest === context.good?.digest) {
    const message = `${describeRelease(head)} is the last-known-good: the rollout is cancelled`;
    const { commit } = head.commit;
    const status = { lastAppliedCommit: commit, lastPromotedCommit: commit };
    return end(
      context,
      asBeforeTheWrite(state),
      { phase: 'Succeeded', reason: 'RevertedInGit', message },
      { status },
    );
  }
  if (!rejectionOf(context, head.digest)) return undefined;
  const message = `Git moved on to ${describeRelease(head)}, which was rejected before`;
  return end(context, asBeforeTheWrite(state), { phase: 'Failed', reason: 'Rejected', message });
}

function asBeforeTheWrite(state: RunState): RunState {
  const { run, failedChecks, iterations } = state;
  return state.kind === 'Analysing' ? state : { kind: 'Starting', run, failedChecks, iterations };
}

/** Git went back to the last-known-good after the first write: revert at once; the left digest is not rejected. */
function revertedInGit(context: Context, state: RunState, head: ReleaseView): Outcome | undefined {
  const { good } = context;
  if (!good) return undefined;
  const finding = `Git went back to ${describeRelease(head)}`;
  const cause = {
    reason: 'RevertedInGit',
    finding,
    reject: false,
    control: false,
    headCommit: head.commit.commit,
  } as const;
  return startRevert(context, state, good, cause);
}

/** A newer revision that may be rolled out, where head holds one. */
export function newerRevision(context: Context, { run }: RunState): ReleaseView | undefined {
  const head = headForRun(context, run);
  if (!head || head.digest === run.digest || head.digest === context.good?.digest) return undefined;
  return rejectionOf(context, head.digest) !== undefined ? undefined : head;
}
