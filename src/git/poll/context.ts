/** What the methods of one Source's repository share. */
import type { PollResult } from '../../contracts/git.ts';
import { GitError } from '../errors.ts';
import type { Verifier } from '../sign/verifier.ts';
import { type Commit, hasWholeCommit, readCommitObject } from '../store/objects.ts';
import type { Access, Session } from '../store/session.ts';
import type { Store, StoreUse } from '../store/stores.ts';
import type { GitReference } from '../types.ts';
import type { GitTransport } from '../wire/transport.ts';
import type { ReadingTarget } from './reading-journal.ts';

/** What a poll saw, and the commit it compared with. */
export interface Poll {
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
export async function requireCommit({ reader }: Session, oid: string): Promise<Commit> {
  const commit = await readCommitObject(reader, oid);
  if (commit) return commit;
  throw new GitError('RefNotFound', `${oid} is not a commit; spec.ref must lead to one`);
}

/** The id itself. Throws GitError NotFound for what is not a full commit id. */
export function checkCommitId(commit: string): string {
  if (/^[0-9a-f]{40}$/.test(commit)) return commit;
  throw new GitError('NotFound', `${JSON.stringify(commit.slice(0, 80))} is not a full commit id`);
}
