/** Which commit of a Source is to be applied, and what keeps head from being it. */
import { bareCommit, type CommitInfo } from '../../../api/observed.ts';
import { codeOf } from '../../failure.ts';
import type { SourceContext, SyncContext } from '../context/context.ts';
import type { SourceState } from '../context/state.ts';
import { wasApplied, whyNotAdmitted } from './dependencies.ts';
import { historyRewritten, needsApproval, type Rewritten } from './rewritten-history.ts';
import { commitsInUse } from './store.ts';

/** A commit to be applied, and what keeps head from being it. */
interface ToApply {
  readonly info: CommitInfo;
  readonly isKnown: boolean;
  readonly waiting?: Rewritten;
  readonly refused?: { readonly error: unknown };
}

/** The commit to be applied: head, or the one applied before while a rewritten history waits for an approval (S23) or head is not verified (S22). */
export async function commitToApply(context: SyncContext): Promise<ToApply> {
  const { source, state, signal } = context;
  const { attemptedCommit, appliedCommit } = source.status ?? {};
  const appliedBefore = state.snapshot?.commit.commit ?? attemptedCommit ?? appliedCommit;
  state.repository.keep(commitsInUse(context));
  const poll = await state.repository.poll(signal, appliedBefore).catch((error: unknown) => {
    if (state.snapshot || !appliedBefore || codeOf(error) !== 'NotVerified') throw error;
    return { error };
  });
  // After a restart what was verified and applied is looked after as before.
  if ('error' in poll) return { info: bareCommit(appliedBefore), isKnown: false, refused: poll };
  state.problem = undefined;
  state.head = poll.head;
  state.signer = poll.signer;
  if (appliedBefore && (await needsApproval(context, poll))) {
    const waiting = { poll, appliedBefore };
    state.problem = historyRewritten(waiting, 'kept');
    const info = state.snapshot?.commit ?? bareCommit(appliedBefore);
    return { info, isKnown: state.snapshot !== undefined, waiting };
  }
  return { info: poll.head, isKnown: state.snapshot?.commit.commit === poll.head.commit };
}

/** The same once other Sources let it in; until then the commit that they let in before, if there is one. */
export function admitted(context: SourceContext, chosen: ToApply): ToApply | undefined {
  const { source, state } = context;
  const waiting = whyNotAdmitted(context, chosen.info.commit);
  if (!waiting) return chosen;
  state.problem ??= { condition: 'Ready', ...waiting };
  if (state.snapshot) return { ...chosen, info: state.snapshot.commit, isKnown: true };
  const { appliedCommit } = source.status ?? {};
  return appliedCommit && wasApplied(source, appliedCommit)
    ? { ...chosen, info: bareCommit(appliedCommit), isKnown: false }
    : undefined;
}

/** Throws the most important reason why nothing can be applied; a rewritten history that waits is reported instead where the older commit is gone. */
export function reportUnreadable(state: SourceState, { refused, waiting }: ToApply, error: unknown): void {
  if (!waiting || codeOf(error) !== 'NotFound') throw refused?.error ?? error;
  state.problem = historyRewritten(waiting, 'gone');
}
