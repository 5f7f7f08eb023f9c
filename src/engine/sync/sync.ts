import type { CanaryStatus } from '../../api/canary/status.ts';
import { bareCommit, type CommitInfo } from '../../api/commit.ts';
import { namespacedName } from '../../api/kubernetes.ts';
import { type Source, sourceTimeoutMs } from '../../api/source/source.ts';
import { codeOf, failureOf } from '../failure.ts';
import { applyCommit, isDue } from './apply-commit.ts';
import type { SourceContext, SourceState, SyncContext, SyncProblem } from './context/context.ts';
import { usedUpAt } from './poll/approvals.ts';
import { wasApplied, whyNotAdmitted } from './poll/dependencies.ts';
import { historyRewritten, needsApproval, type Rewritten } from './poll/rewritten-history.ts';
import { servesNewKinds, whileNewKinds } from './read/kinds.ts';
import { readLedger } from './read/older-commit.ts';
import { isProvisional, readCommit } from './read/read.ts';
import { requestsOf } from './status/requests.ts';
import { writeSourceStatus } from './status/status.ts';

/**
 * One sync: poll, and when there is news read, apply what belongs to no Canary, and hand each Canary its release. Without news it makes no
 * request but the poll. Throws after having written the status, so that the poller backs off.
 */
export async function syncSource(context: SyncContext): Promise<void> {
  const { parts, source, state, watch, signal } = context;
  const requests = requestsOf(source);
  const limited = withDeadline(signal, source);
  const { problem: before } = state;
  let isPolled = false;
  const onPolled = () => {
    isPolled = true;
  };
  const failure = await attempt(() => update({ ...context, signal: limited }, { stopped: signal, onPolled }));
  if (signal.aborted) return;
  state.requests = requests;
  if (failure) state.problem = problemOf(failure.error, source, { signal: limited, isPolled });
  // Only now: a status that is written in the middle of a sync says what was known before.
  else if (state.problem === before) state.problem = undefined;
  parts.claims.hasRead(state.key, hasReadHead(state) ? state.head?.commit : undefined);
  await writeSourceStatus(context, watch);
  const retry =
    failure ?? (state.result?.failures.some(({ transient }) => transient) ? { error: transient } : undefined);
  if (retry) throw retry.error;
}

/** It is known what head holds here, so that what moved here with it is claimed; where head has no such folder, it holds nothing. */
function hasReadHead({ snapshot, head, problem }: SourceState): boolean {
  if (problem?.reason === 'PathNotFound') return true;
  return snapshot?.commit.commit === head?.commit && snapshot?.isWhole === true;
}

const transient = new Error('some objects could not be applied yet');

/** Aborted with `stopped`, and after `spec.timeout` from now. */
function withDeadline(stopped: AbortSignal, source: Source): AbortSignal {
  return AbortSignal.any([stopped, AbortSignal.timeout(sourceTimeoutMs(source))]);
}

/** What is applied is kept in order, also while Git cannot be reached, or the commit to be applied cannot be read. */
async function update(
  context: SyncContext,
  { stopped, onPolled }: { readonly stopped: AbortSignal; readonly onPolled: () => void },
): Promise<void> {
  const { parts, source, state } = context;
  const keepInOrder = async () => {
    // A server that hangs has left none of the time.
    const signal = withDeadline(stopped, source);
    if (state.snapshot && isDue(context)) await applyCommit({ ...context, signal });
  };
  const chosen = await commitToApply(context).catch(async (error: unknown) => {
    await keepInOrder();
    throw error;
  });
  onPolled();
  const commit = admitted(context, chosen);
  if (!commit) {
    if (chosen.refused) throw chosen.refused.error;
    return;
  }
  const readUnder = `${source.metadata.generation ?? 0}`;
  const hasNewKinds = async () =>
    state.snapshot !== undefined && (await servesNewKinds(parts.cluster, state.snapshot));
  const hasNews = !commit.isKnown || state.readUnder !== readUnder || (await hasNewKinds());
  let isReadable = true;
  const readAndApply = async (isNew: boolean) => {
    if (isNew) {
      const isSameSpec = state.readUnder === readUnder;
      // Before it is read: whoever asks for another reading meanwhile takes it away.
      state.readUnder = readUnder;
      const failure = await attempt(async () => {
        await readLedger(context);
        await readCommit(context, commit.info, isSameSpec);
      });
      if (failure) {
        delete state.readUnder;
        isReadable = false;
        await keepInOrder();
        return reportUnreadable({ source, state }, commit, failure.error);
      }
    }
    if (state.snapshot && isProvisional(state.snapshot)) delete state.readUnder;
    if (isNew || isDue(context)) await applyCommit(context);
  };
  // Where the commit brought CustomResourceDefinitions of its own: where their objects belong is known then.
  await whileNewKinds(hasNews, readAndApply, async () => isReadable && (await hasNewKinds()));
  if (isReadable && commit.refused) throw commit.refused.error;
}

// Which commit is to be applied, and what keeps head from being it.

/** A commit to be applied, and what keeps head from being it. */
interface ToApply {
  readonly info: CommitInfo;
  readonly isKnown: boolean;
  readonly waiting?: Rewritten;
  readonly refused?: { readonly error: unknown };
}

/** The commit to be applied: head, or the one applied before while a rewritten history waits for an approval (S23) or head is not verified (S22). */
async function commitToApply(context: SyncContext): Promise<ToApply> {
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
  state.head = poll.head;
  state.signer = poll.signer;
  if (appliedBefore) usedUpAt(source, state, appliedBefore);
  if (appliedBefore && (await needsApproval(context, poll))) {
    const waiting = { poll, appliedBefore };
    state.problem = historyRewritten(source, waiting, 'kept');
    const info = state.snapshot?.commit ?? bareCommit(appliedBefore);
    return { info, isKnown: state.snapshot !== undefined, waiting };
  }
  return { info: poll.head, isKnown: state.snapshot?.commit.commit === poll.head.commit };
}

/** The same once other Sources let it in; until then the commit that they let in before, if there is one. */
function admitted(context: SourceContext, chosen: ToApply): ToApply | undefined {
  const { source, state } = context;
  const waiting = whyNotAdmitted(context, chosen.info.commit);
  if (!waiting) return chosen;
  if (!chosen.waiting) state.problem = { condition: 'Ready', ...waiting };
  if (state.snapshot) return { ...chosen, info: state.snapshot.commit, isKnown: true };
  const { appliedCommit } = source.status ?? {};
  return appliedCommit && wasApplied(source, appliedCommit)
    ? { ...chosen, info: bareCommit(appliedCommit), isKnown: false }
    : undefined;
}

/** Throws the most important reason why nothing can be applied; a rewritten history that waits is reported instead where the older commit is gone. */
function reportUnreadable(
  { source, state }: Pick<SourceContext, 'source' | 'state'>,
  { refused, waiting }: ToApply,
  error: unknown,
): void {
  if (!waiting || codeOf(error) !== 'NotFound') throw refused?.error ?? error;
  state.problem = historyRewritten(source, waiting, 'gone');
}

/**
 * Full ids of the commits that a Source's store must go on holding besides head: what is applied, and what its Canaries promoted last or
 * roll out now. Before the first read it is not known which Source holds a Canary; then those of no Source count.
 */
function commitsInUse({ parts, source, state }: SourceContext): string[] {
  const canaries = parts.canaries().filter((canary) => {
    const owner = parts.heads.sourceOf(namespacedName(canary));
    return owner === undefined || owner === state.key;
  });
  const promoted = canaries.flatMap(({ status }) => {
    const { lastKnownGood, lastPromotedCommit, lastAppliedCommit } = (status ?? {}) as CanaryStatus;
    return [lastKnownGood?.commit, lastPromotedCommit, lastAppliedCommit];
  });
  const { attemptedCommit, appliedCommit } = source.status ?? {};
  const applied = [state.snapshot?.commit.commit, attemptedCommit, appliedCommit];
  const ids = [...applied, ...promoted].filter((commit) => commit !== undefined);
  return [...new Set(ids.filter((commit) => /^[0-9a-f]{40}$/.test(commit)))];
}

async function attempt(work: () => Promise<void>): Promise<{ error: unknown } | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** Git's errors carry a code; the message of any error says who must act. */
function problemOf(
  error: unknown,
  source: Source,
  { signal, isPolled }: { readonly signal: AbortSignal; readonly isPolled: boolean },
): SyncProblem {
  const code = codeOf(error);
  const { reason, message } = failureOf(error);
  if (signal.aborted) {
    const late = `longer than ${sourceTimeoutMs(source) / 1000} s (spec.timeout)`;
    // An API server or a webhook that is slow is looked for elsewhere than a Git server.
    return isPolled
      ? { condition: 'Ready', reason: 'Timeout', message: `Git has answered; to read and apply took ${late}` }
      : { condition: 'Fetched', reason: 'Timeout', message: `a sync took ${late}` };
  }
  if (code === 'PathNotFound' || code === 'ReadingSkipped')
    return { condition: 'Rendered', reason: code, message };
  if (code !== undefined) return { condition: 'Fetched', reason: code, message };
  return { condition: 'Ready', reason, message };
}
