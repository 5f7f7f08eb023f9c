import { GitError } from './errors.ts';
import { accessOf, type Context, fetchById, type Poll, requireCommit } from './git-context.ts';
import { ancestry } from './history.ts';
import { hasWholeCommit } from './objects.ts';
import { type Resolved, referenceKey, resolveReference } from './references.ts';
import type { Session } from './repository.ts';
import type { PollResult } from './types.ts';

/** Asks where the reference points, fetches and verifies it, and compares it with what was there before. Throws GitError. */
export async function poll(context: Context, signal: AbortSignal, previous?: string): Promise<PollResult> {
  const { state } = context;
  const target = await resolve(context, signal);
  const answer = repeated(state.last, target, previous);
  if (answer) return verified(context, target, signal, answer);
  const last = await update(context, target, signal, previous);
  state.last = last;
  await rebuild(context, target.commit, signal);
  return last.result;
}

/** Where the reference points: asked of the server once for all Sources that follow it in this store. */
function resolve(context: Context, signal: AbortSignal): Promise<Resolved> {
  const { openTransport, reference, store, url, ages, state } = context;
  // A Source that is new, or says something else now, wants to know how it is now.
  const notBeforeMs = state.last ? Number.NEGATIVE_INFINITY : context.openedMs;
  return store.listings.resolve(
    {
      ...ages,
      ...{ notBeforeMs, key: referenceKey(reference) },
      look: (shared) => resolveReference(() => openTransport(shared), url, reference),
    },
    signal,
  );
}

/** The same commit again: its signature is looked at anew where the signers changed. */
async function verified(
  context: Context,
  target: Resolved,
  signal: AbortSignal,
  result: PollResult,
): Promise<PollResult> {
  const { verifier, store } = context;
  if (!verifier) return result;
  const signer = await store.repository.run(accessOf(context, signal), (session) =>
    verifier.head(session, target),
  );
  return { ...result, signer };
}

function update(context: Context, target: Resolved, signal: AbortSignal, previous?: string): Promise<Poll> {
  const { record, store, state, verifier } = context;
  // Kept outside the work: when the store turns out damaged and is replaced, what was seen before still counts.
  let known = previous ?? state.last?.result.head.commit;
  return store.repository.run(accessOf(context, signal), async (session) => {
    known ??= await session.recorded(record);
    await session.ensure(target);
    const head = await requireCommit(session, target.commit);
    const signer = await verifier?.head(session, target);
    const kind = await compare(session, target, known);
    await session.record(record, target.commit);
    return {
      previous: known,
      result: {
        ...{ kind, head: head.info, treeOid: head.tree, refName: target.refName },
        ...(signer === undefined ? {} : { signer }),
      },
    };
  });
}

/** A store that cannot be rebuilt now stays in use, and is tried again when it has doubled. */
async function rebuild(context: Context, head: string, signal: AbortSignal): Promise<void> {
  const { record, store } = context;
  try {
    await store.repository.rebuildIfGrown(
      accessOf(context, signal),
      store.growthFactor,
      async (session, old) => {
        await fetchById(session, head);
        const kept = [...store.uses.values()].flatMap((use) => use.kept ?? []);
        // What the old store does not hold either cannot be lost here.
        for (const commit of new Set(kept))
          if (await hasWholeCommit(old, commit)) await fetchById(session, commit);
        await session.record(record, head);
      },
    );
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    store.growthFactor *= 2;
  }
}

/** The answer without touching the disk, when the same question has the same target as last time. */
function repeated(
  last: Poll | undefined,
  target: Resolved,
  previous: string | undefined,
): PollResult | undefined {
  if (!last || last.result.head.commit !== target.commit || last.result.refName !== target.refName)
    return undefined;
  const asked = previous ?? target.commit;
  if (asked === target.commit) return { ...last.result, kind: 'unchanged' };
  return asked === last.previous ? last.result : undefined;
}

async function compare(
  session: Session,
  target: Resolved,
  known: string | undefined,
): Promise<PollResult['kind']> {
  if (known === target.commit) return 'unchanged';
  // A commit that the Source itself names is no surprise, and another tag in the range is what a range is for.
  if (known === undefined || target.refName === target.commit || target.candidates.includes(known))
    return 'moved';
  return (await ancestry(session, target.commit, known)) === 'yes' ? 'moved' : 'rewritten';
}
