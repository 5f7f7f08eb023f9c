import type { PollResult } from '../../contracts/git.ts';
import { GitError } from '../errors.ts';
import { createVerifier, type Verification, type Verifier } from '../sign/verifier.ts';
import { type Commit, hasWholeCommit, readCommitObject } from '../store/objects.ts';
import type { Access, Session } from '../store/session.ts';
import type { Store, Stores, StoreUse } from '../store/stores.ts';
import type { GitReference } from '../types.ts';
import { createGitTransport } from '../wire/open-transport.ts';
import { referenceKey } from '../wire/references.ts';
import {
  checkGitUrl,
  DEFAULT_TRANSPORT_LIMITS,
  type GitTransport,
  type TransportLimits,
  type TransportOptions,
  type TransportStats,
} from '../wire/transport.ts';
import type { ReadingJournal, ReadingTarget } from './reading-journal.ts';

/** Settings of a context. */
export interface ContextOptions extends Pick<TransportOptions, 'client'> {
  readonly namespace: string;
  readonly name: string;
  readonly url: string;
  readonly reference: GitReference;
  /** Sources of one namespace with the same address and the same `credentialsFrom` share a store and its polls. */
  readonly stores: Stores;
  /** Where the credentials come from, by name. Default: nowhere. */
  readonly credentialsFrom?: string | undefined;
  /** Default: each poll asks the server, unless it failed a moment ago. */
  readonly ages?: PollAges;
  /** Records what is being read. Default: it is not recorded. */
  readonly journal?: ReadingJournal | undefined;
  /** Generation of the Source, for the journal. */
  readonly generation?: number | undefined;
  /** Asked before each operation, so that a rotated Secret is used immediately. Default: anonymous. */
  readonly credentials?: () => TransportOptions['credentials'] | Promise<TransportOptions['credentials']>;
  /** What must be signed before anything of it is read (S22). Default: nothing. */
  readonly verification?: Verification | undefined;
  readonly limits?: Partial<TransportLimits>;
}

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
  /** How old the answer to a poll may be, and the pauses after failures. */
  readonly ages: PollAges;
  /** When this Source opened it, by the stores' clock. */
  readonly openedMs: number;
  readonly state: { last: Poll | undefined };
  /** Records in the journal what is being read while `work` runs. */
  readonly noted: <T>(
    stage: ReadingTarget['stage'],
    commit: string,
    work: () => Promise<T>,
    signal?: AbortSignal,
  ) => Promise<T>;
}

/** Times of a Source that polls together with others, in milliseconds. */
export interface PollAges {
  readonly maxAgeMs: number;
  readonly retryMs: number;
  readonly maxRetryMs: number;
}

const noAges: PollAges = { maxAgeMs: 0, retryMs: 0, maxRetryMs: 0 };

/** Opens a repository; nothing is read or fetched yet. `stats` counts what it transfers. Throws GitError Refused for a URL that is not allowed. */
export function createContext(options: ContextOptions, stats: TransportStats): Context {
  const { client, name, namespace, reference, stores, credentialsFrom = '', ages = noAges } = options;
  const url = checkGitUrl(options.url);
  const limits = { ...DEFAULT_TRANSPORT_LIMITS, ...options.limits };
  const holder = `${namespace}/${name}`;
  const record = `poll/${referenceKey(reference)}`;
  const key = { url, namespace, credentials: credentialsFrom };
  const { store, use, openedMs } = stores.open(holder, key, record);
  const { address } = store;
  const openTransport = async (signal?: AbortSignal) => {
    const credentials = (await options.credentials?.()) ?? {};
    return createGitTransport({ client, url, credentials, limits, stats, address, signal });
  };
  const verifier = options.verification && createVerifier(options.verification);
  const state = { last: undefined };
  const { journal, generation = 0 } = options;
  const noted: Context['noted'] = (stage, commit, work, signal) =>
    journal ? journal.reading({ source: holder, stage, commit, generation }, work, signal) : work();
  return {
    url,
    reference,
    record,
    store,
    use,
    verifier,
    openTransport,
    ages,
    openedMs,
    state,
    noted,
  };
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
