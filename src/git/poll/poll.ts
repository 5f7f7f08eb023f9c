import type { PollResult } from '../../contracts/git.ts';
import { GitError } from '../errors.ts';
import type { Verifier } from '../sign/verifier.ts';
import { type Commit, hasWholeCommit, readCommitObject } from '../store/objects.ts';
import type { Needs } from '../store/repository.ts';
import type { Access, Session } from '../store/session.ts';
import type { Store, StoreUse } from '../store/stores.ts';
import type { GitReference } from '../types.ts';
import { type Resolved, referenceKey, resolveReference } from '../wire/references.ts';
import type { GitTransport } from '../wire/transport.ts';
import { ancestry } from './history.ts';
import type { ReadingTarget } from './reading-journal.ts';

/** What the methods of one Source's repository share. */

/** What a poll saw, and the commit it compared with. */
interface Poll {
  readonly previous: string | undefined;
  readonly result: PollResult;
}

/** One repository while it is used. */
export interface Context {
  readonly url: string;
  readonly reference: GitReference;
  /** Private name under which the last head is recorded in the store. */
  readonly record: string;
  /** Shared with the Sources of the same address and credentials. */
  readonly store: Store;
  /** What this Source needs of it. */
  readonly use: StoreUse;
  readonly verifier: Verifier | undefined;
  readonly openTransport: (signal?: AbortSignal) => Promise<GitTransport>;
  /** How old the answer to a poll may be, and how failures are waited out. */
  readonly ages: PollAges;
  /** When this Source opened it, by the stores' clock. */
  readonly openedMs: number;
  readonly state: { last: Poll | undefined };
  /** Notes down what is read while `work` runs. */
  readonly noted: <T>(stage: ReadingTarget['stage'], commit: string, work: () => Promise<T>) => Promise<T>;
}

/** Times of a Source that polls together with others, in milliseconds. */
export interface PollAges {
  readonly maxAgeMs: number;
  readonly retryMs: number;
  readonly maxRetryMs: number;
}

/** Work as this Source. */
export function accessOf({ openTransport }: Context, signal?: AbortSignal): Access {
  return { openTransport, signal };
}

/** Work on a commit that is fetched by its id when the store does not hold it. */
export function atCommit<T>(
  context: Context,
  commit: string,
  signal: AbortSignal | undefined,
  work: (session: Session, commit: Commit) => Promise<T>,
): Promise<T> {
  return context.store.repository.run(accessOf(context, signal), async (session) => {
    if (!(await hasWholeCommit(session.reader, checkCommitId(commit)))) {
      await session.ensure({ commit, depth: 1 });
      await session.record(`kept/${commit}`, commit);
    }
    return work(session, await requireCommit(session, commit));
  });
}

/** The same for what is desired state: nothing of a commit is read that is not verified (S22). */
export function atVerifiedCommit<T>(
  context: Context,
  commit: string,
  signal: AbortSignal | undefined,
  work: (session: Session, commit: Commit) => Promise<T>,
): Promise<T> {
  return atCommit(context, commit, signal, async (session, found) => {
    await context.verifier?.commit(session, commit);
    return work(session, found);
  });
}

/** A commit of the store. Throws GitError RefNotFound for anything else. */
async function requireCommit({ reader }: Session, oid: string): Promise<Commit> {
  const commit = await readCommitObject(reader, oid);
  if (commit) return commit;
  throw new GitError('RefNotFound', `${oid} is not a commit; spec.ref must lead to one`);
}

/** The id itself. Throws GitError NotFound for what is not a full commit id. */
export function checkCommitId(commit: string): string {
  if (/^[0-9a-f]{40}$/.test(commit)) return commit;
  throw new GitError('NotFound', `${JSON.stringify(commit.slice(0, 80))} is not a full commit id`);
}

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
    // Also what is fetched and refused, poll after poll, takes room.
    await compact(context, signal);
  }
}

/** Another Source of the store has looked at this very answer, coming from the same commit: nothing is left to be read. */
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

/** Where the reference points: asked of the server once for all Sources that follow it in this store. */
function resolve(context: Context, signal: AbortSignal): Promise<Resolved> {
  const { openTransport, reference, store, url, ages, state } = context;
  // A Source that is new, or says something else now, wants to know how it is now.
  const notBeforeMs = state.last ? Number.NEGATIVE_INFINITY : context.openedMs;
  return store.listings.resolve(
    {
      ...ages,
      notBeforeMs,
      key: referenceKey(reference),
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

/** What is in use is written down, so that it stays through a compaction after a restart, before its Source has spoken again. */
async function recordCommitsInUse(session: Session, { uses }: Store): Promise<void> {
  const known = new Set((await session.records()).keys());
  const kept = [...uses.values()].flatMap((use) => use.kept ?? []);
  for (const commit of new Set(kept))
    if (!known.has(`kept/${commit}`)) await session.record(`kept/${commit}`, commit);
}

/** A store that cannot be made smaller now stays in use, and is tried again when it has doubled. */
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
 * The heads that are followed, and what the Sources keep besides. Until each of them has said what that is, everything that was kept before
 * stays: a Source that is suspended says nothing.
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
