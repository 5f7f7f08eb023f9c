import { createSlots } from '../../api/slots.ts';
import type { PollResult } from '../../contracts/git.ts';
import { GitError } from '../errors.ts';
import type { Needs } from '../store/repository.ts';
import type { Session } from '../store/session.ts';
import type { Store } from '../store/stores.ts';
import { type Resolved, referenceKey, resolveReference } from '../wire/references.ts';
import { accessOf, type Context, type Poll, requireCommit } from './context.ts';
import { ancestry } from './history.ts';

/** Asks where the reference points, fetches and verifies it, and compares it with what was there before. Throws GitError. */
export async function poll(context: Context, signal: AbortSignal, previous?: string): Promise<PollResult> {
  const { state } = context;
  const target = await resolve(context, signal);
  const answer = repeated(state.last, target, previous);
  if (answer) return verified(context, target, signal, answer);
  const seen = sharedResult(context, target, previous);
  if (seen) {
    state.last = seen;
    return seen.result;
  }
  try {
    state.last = await context.noted('fetch', target.commit, () => update(context, target, signal, previous));
    return state.last.result;
  } finally {
    // Refused commits, which are fetched at each poll, take space too.
    await compact(context, signal);
  }
}

/** The result of another Source of the store for the same target and the same previous commit. */
function sharedResult(
  { record, store, state, verifier }: Context,
  target: Resolved,
  previous: string | undefined,
): Poll | undefined {
  const seen = store.seen.get(record);
  const known = previous ?? state.last?.result.head.commit;
  if (verifier || seen?.target !== target) return undefined;
  const result = seen.results.get(known ?? '');
  return result && { previous: known, result };
}

function shareResult(
  { record, store, verifier }: Context,
  target: Resolved,
  known: string,
  result: PollResult,
): void {
  if (verifier) return;
  const before = store.seen.get(record);
  const results = before?.target === target ? before.results : new Map<string, PollResult>();
  store.seen.set(record, { target, results: results.set(known, result) });
}

/** Ranges that are looked for at a time in one namespace: all tags are held for it, which may take tens of mebibytes. */
const ranges = createSlots(4);

/** Where the reference points: the server is asked once for all Sources of this store that follow it. */
function resolve(context: Context, signal: AbortSignal): Promise<Resolved> {
  const { openTransport, reference, store, url, ages, state } = context;
  // A new or changed Source needs an answer that is not older than itself.
  const notBeforeMs = state.last ? Number.NEGATIVE_INFINITY : context.openedMs;
  return store.listings.resolve(
    {
      ...ages,
      notBeforeMs,
      key: referenceKey(reference),
      async look(shared) {
        const look = () => resolveReference(() => openTransport(shared), url, reference);
        if (!reference.semver) return look();
        const release = await ranges.acquire(store.namespace, shared);
        return look().finally(release);
      },
    },
    signal,
  );
}

/** The same commit again: its signature is verified again if the signers changed. */
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
  // Outside of `work`: a second run on a fresh store, after the damaged one was replaced, still compares with this commit.
  let known = previous ?? state.last?.result.head.commit;
  const knownBefore = known ?? '';
  return store.repository.run(accessOf(context, signal), async (session) => {
    known ??= await session.recorded(record);
    await session.ensure(target);
    const head = await requireCommit(session, target.commit);
    const signer = await verifier?.head(session, target);
    const kind = await compare(session, target, known);
    await session.record(record, target.commit);
    await recordCommitsInUse(session, store);
    const result: PollResult = {
      kind,
      head: head.info,
      refName: target.refName,
      ...(signer === undefined ? {} : { signer }),
    };
    shareResult(context, target, knownBefore, result);
    return { previous: known, result };
  });
}

/** Records the commits in use, so that a compaction after a restart preserves them before their Sources were reconciled. */
async function recordCommitsInUse(session: Session, { uses }: Store): Promise<void> {
  const known = new Set((await session.records()).keys());
  const kept = [...uses.values()].flatMap((use) => use.kept ?? []);
  for (const commit of new Set(kept))
    if (!known.has(`kept/${commit}`)) await session.record(`kept/${commit}`, commit);
}

/** A store that cannot be compacted now stays in use; compaction is tried again when it has doubled in size. */
async function compact(context: Context, signal: AbortSignal): Promise<void> {
  const { store } = context;
  try {
    const { size, isDone } = await store.repository.compactIfGrown(
      accessOf(context, signal),
      store.growthFactor,
      (session) => needsOf(store, session),
    );
    store.size = size;
    if (isDone) Object.assign(store, { compactedMs: store.nowMs(), growthFactor: 1 });
  } catch (error) {
    if (error instanceof GitError) store.growthFactor *= 2;
    else if (!signal.aborted) throw error;
  }
}

/**
 * The heads that are followed, and the other commits that Sources use. Until each Source has named these, all recorded commits are
 * preserved: a suspended Source names none.
 */
async function needsOf(store: Store, session: Session): Promise<Needs> {
  const uses = [...store.uses.values()];
  const followed = new Set(uses.map(({ record }) => record));
  const isSilent = uses.some(({ kept }) => kept === undefined);
  const records = new Map<string, string>();
  for (const [name, commit] of await session.records())
    if (followed.has(name) || (isSilent && name.startsWith('kept/'))) records.set(name, commit);
  for (const commit of uses.flatMap(({ kept = [] }) => kept)) records.set(`kept/${commit}`, commit);
  return { commits: [...records.values()], records };
}

/** The answer without touching the disk, when the same question has the same target as last time. */
function repeated(
  last: Poll | undefined,
  target: Resolved,
  previous: string | undefined,
): PollResult | undefined {
  if (!last || last.result.head.commit !== target.commit || last.result.refName !== target.refName)
    return undefined;
  const base = previous ?? target.commit;
  if (base === target.commit) return { ...last.result, kind: 'unchanged' };
  return base === last.previous ? last.result : undefined;
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
