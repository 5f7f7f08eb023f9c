import type { HttpClient } from '../../http/types.ts';
import { createVerifier, type Verification } from '../sign/verifier.ts';
import { DEFAULT_TREE_LIMITS, entriesBelow, readFilesBelow } from '../store/files.ts';
import { hasWholeCommit } from '../store/objects.ts';
import type { Stores } from '../store/stores.ts';
import { findFolder } from '../store/tree.ts';
import type { GitReference, GitSource } from '../types.ts';
import type { GitCredentials } from '../wire/credentials.ts';
import { createGitTransport } from '../wire/open-transport.ts';
import { referenceKey } from '../wire/references.ts';
import {
  checkGitUrl,
  DEFAULT_TRANSPORT_LIMITS,
  type TransportLimits,
  type TransportStats,
} from '../wire/transport.ts';
import { createGitWriting, type Sign } from '../write/git-writing.ts';
import type { Identity } from '../write/new-objects.ts';
import { ancestry } from './history.ts';
import {
  accessOf,
  atCommit,
  atVerifiedCommit,
  type Context,
  checkCommitId,
  type PollAges,
  poll,
} from './poll.ts';
import type { ReadingJournal } from './reading-journal.ts';

/** Settings of one Source's repository. */
export interface GitSourceOptions {
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
  /** Where it is noted down what is read. Default: nowhere. */
  readonly journal?: ReadingJournal | undefined;
  /** Generation of the Source, for the journal. */
  readonly generation?: number | undefined;
  readonly client: HttpClient;
  /** Asked before each operation, so that a rotated Secret is used at once. Default: anonymous. */
  readonly credentials?: () => GitCredentials | Promise<GitCredentials>;
  /** Who commits; default Holdfast without an address that anybody reads. */
  readonly identity?: Identity;
  /** Asked before each commit. Default: commits are not signed. */
  readonly signer?: () => Promise<Sign | undefined>;
  /** What must be signed before anything of it is read (S22). Default: nothing. */
  readonly verification?: Verification | undefined;
  readonly limits?: Partial<TransportLimits>;
}

/** Author and committer unless flags name others. */
export const DEFAULT_IDENTITY: Identity = { name: 'Holdfast', email: 'holdfast@localhost' };

/** A GitSource with what it moved over the network. */
export interface MeasuredGitSource extends GitSource {
  readonly stats: Readonly<TransportStats>;
}

/** Opens a Source's repository; nothing is read or fetched yet. Throws GitError Refused for a URL that is not allowed. */
export function createGitSource(options: GitSourceOptions): MeasuredGitSource {
  const stats: TransportStats = { requests: 0, receivedBytes: 0 };
  const context = createContext(options, stats);
  const isDescendant: GitSource['isDescendant'] = (commit, ancestor, signal) =>
    atCommit(context, commit, signal, (session) => ancestry(session, commit, checkCommitId(ancestor)));
  const writing = createGitWriting({
    url: context.url,
    identity: options.identity ?? DEFAULT_IDENTITY,
    signer: options.signer ?? (async () => undefined),
    openTransport: context.openTransport,
    atCommit: (commit, signal, work) => atCommit(context, commit, signal, work),
    isDescendant,
  });
  return {
    ...writing,
    stats,
    poll: (signal, previous) => poll(context, signal, previous),
    treeOidAt: (commit, path, signal) =>
      atVerifiedCommit(context, commit, signal, (session, { tree }) =>
        findFolder(session.reader, tree, path),
      ),
    readFiles: (commit, path, { limits, signal, alsoRead = () => false, anyBytes = false } = {}) =>
      atVerifiedCommit(context, commit, signal, ({ reader, pause }, { tree }) =>
        readFilesBelow(
          { reader, pause, alsoRead, anyBytes, limits: { ...DEFAULT_TREE_LIMITS, ...limits } },
          tree,
          path,
        ),
      ),
    entriesAt: (commit, paths, { signal, maxFileBytes }) =>
      atVerifiedCommit(context, commit, signal, ({ reader, pause }, { tree }) =>
        entriesBelow({ reader, pause, maxFileBytes }, tree, paths),
      ),
    readCommit: (commit, signal) => atCommit(context, commit, signal, async (_session, { info }) => info),
    hasCommit: (commit) =>
      context.store.repository.run(accessOf(context), ({ reader }) =>
        hasWholeCommit(reader, checkCommitId(commit)),
      ),
    isDescendant,
    rendering: (commit, work) => context.noted('render', commit, work),
    keep(commits) {
      context.use.kept = commits.map(checkCommitId);
    },
    expectNews: () => context.store.listings.expire(),
    onNews: (listener) => context.store.listings.onNews(referenceKey(context.reference), listener),
  };
}

const noAges: PollAges = { maxAgeMs: 0, retryMs: 0, maxRetryMs: 0 };

function createContext(options: GitSourceOptions, stats: TransportStats): Context {
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
  const noted: Context['noted'] = (stage, commit, work) =>
    journal ? journal.reading({ source: holder, stage, commit, generation }, work) : work();
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
