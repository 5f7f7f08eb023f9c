import { type Source, sourceTimeoutMs } from '../../api/source/source.ts';
import { codeOf, failureOf } from '../failure.ts';
import { applyCommit, isDue } from './apply-commit.ts';
import type { SyncContext } from './context/context.ts';
import type { SyncProblem } from './context/state.ts';
import { admitted, commitToApply, reportUnreadable } from './poll/commit-to-apply.ts';
import { servesNewKinds, whileNewKinds } from './read/kinds.ts';
import { readLedger } from './read/published-heads.ts';
import { readCommit } from './read/read.ts';
import { requestsOf } from './status/requests.ts';
import { writeSourceStatus } from './status/status.ts';

/**
 * One sync: poll, and when there is news read, apply what belongs to no Canary, and hand each Canary its release. Without news it makes no
 * request but the poll. Throws after having written the status, so that the poller backs off.
 */
export async function syncSource(context: SyncContext): Promise<void> {
  const { source, state, watch, signal } = context;
  const requests = requestsOf(source);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(sourceTimeoutMs(source))]);
  const failure = await attempt(() => update({ ...context, signal: limited }));
  if (signal.aborted) return;
  state.requests = requests;
  if (failure) state.problem = problemOf(failure.error, limited, source);
  await writeSourceStatus(context, watch);
  const retry =
    failure ?? (state.result?.failures.some(({ transient }) => transient) ? { error: transient } : undefined);
  if (retry) throw retry.error;
}

const transient = new Error('some objects could not be applied yet');

async function update(context: SyncContext): Promise<void> {
  const { parts, source, state } = context;
  const chosen = await commitToApply(context).catch(async (error: unknown) => {
    // What is applied is kept in order, also while Git cannot be reached.
    if (state.snapshot && isDue(context)) await applyCommit(context);
    throw error;
  });
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
      await readLedger(context);
      const isSameSpec = state.readUnder === readUnder;
      // Before it is read: whoever asks for another reading meanwhile takes it away.
      state.readUnder = readUnder;
      const failure = await attempt(() => readCommit(context, commit.info, isSameSpec));
      if (failure) {
        delete state.readUnder;
        isReadable = false;
        return reportUnreadable(state, commit, failure.error);
      }
    }
    if (state.snapshot?.isFleeting) delete state.readUnder;
    const isApplied = state.snapshot && state.result?.failures.length === 0;
    if (isNew || !isApplied || isDue(context)) await applyCommit(context);
  };
  // Where the commit brought CustomResourceDefinitions of its own: where their objects belong is known then.
  await whileNewKinds(hasNews, readAndApply, async () => isReadable && (await hasNewKinds()));
  if (isReadable && commit.refused) throw commit.refused.error;
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
function problemOf(error: unknown, signal: AbortSignal, source: Source): SyncProblem {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (signal.aborted)
    return {
      condition: 'Fetched',
      reason: 'Timeout',
      message: `a sync took longer than ${sourceTimeoutMs(source) / 1000} s (spec.timeout)`,
    };
  if (code === 'PathNotFound' || code === 'ReadingSkipped')
    return { condition: 'Rendered', reason: code, message };
  if (code !== undefined) return { condition: 'Fetched', reason: code, message };
  return { condition: 'Ready', reason: failureOf(error).reason, message };
}
