import type { HttpClient } from '../http/types.ts';
import type { GitCredentials } from './credentials.ts';
import { entriesBelow } from './entries.ts';
import { DEFAULT_TREE_LIMITS, readFilesBelow } from './files.ts';
import { atCommit, atVerified, type Context, checkCommitId } from './git-context.ts';
import { poll } from './git-poll.ts';
import { createGitWriting, type Sign } from './git-writing.ts';
import { ancestry } from './history.ts';
import type { Identity } from './new-objects.ts';
import { hasWholeCommit } from './objects.ts';
import { DEFAULT_PACK_LIMITS, type PackLimits } from './pack-check.ts';
import { referenceKey } from './references.ts';
import { createRepository, DEFAULT_GROWTH_LIMITS, type GrowthLimits } from './repository.ts';
import { createVerifier, type Verification } from './signatures/verifier.ts';
import { storeDirectory } from './store-directory.ts';
import {
  type Address,
  createGitTransport,
  DEFAULT_TRANSPORT_LIMITS,
  type TransportLimits,
  type TransportStats,
} from './transport.ts';
import { findFolder } from './tree.ts';
import type { GitReference, GitSource } from './types.ts';
import { checkGitUrl } from './url.ts';
import type { GitWriting } from './write-types.ts';

/** Settings of one Source's repository. */
export interface GitSourceOptions {
  /** `namespace/name` of the Source: Sources never share a store, since credentials differ. */
  readonly id: string;
  readonly url: string;
  readonly reference: GitReference;
  /** Stores live in `<dataDir>/git`. */
  readonly dataDir: string;
  readonly client: HttpClient;
  /** Asked before each operation, so that a rotated Secret is used at once. Default: anonymous. */
  readonly credentials?: () => GitCredentials | Promise<GitCredentials>;
  /** Who commits; default Holdfast without an address that anybody reads. */
  readonly identity?: Identity;
  /** Asked before each commit. Default: commits are not signed. */
  readonly signer?: () => Promise<Sign | undefined>;
  /** What must be signed before anything of it is read (S22). Default: nothing. */
  readonly verification?: Verification | undefined;
  readonly limits?: Partial<TransportLimits & PackLimits & GrowthLimits>;
}

/** Author and committer unless flags name others. */
export const DEFAULT_IDENTITY: Identity = { name: 'Holdfast', email: 'holdfast@localhost' };

/** A GitSource with what it moved over the network. */
export interface MeasuredGitSource extends GitSource, GitWriting {
  readonly stats: Readonly<TransportStats>;
}

/** Opens a Source's repository; nothing is read or fetched yet. Throws GitError Refused for a URL that is not allowed. */
export function createGitSource(options: GitSourceOptions): MeasuredGitSource {
  const stats: TransportStats = { requests: 0, receivedBytes: 0 };
  const context = createContext(options, stats);
  const writing = createGitWriting({
    url: context.url,
    identity: options.identity ?? DEFAULT_IDENTITY,
    signer: options.signer ?? (async () => undefined),
    transportOptions: context.transportOptions,
    openTransport: context.openTransport,
    atCommit: (commit, signal, work) => atCommit(context, commit, signal, work),
  });
  return {
    ...writing,
    stats,
    poll: (signal, previous) => poll(context, signal, previous),
    treeOidAt: (commit, path, signal) =>
      atVerified(context, commit, signal, (session, { tree }) => findFolder(session.reader, tree, path)),
    readFiles: (commit, path, { limits, signal, alsoRead = () => false, anyBytes = false } = {}) =>
      atVerified(context, commit, signal, ({ reader, pause }, { tree }) =>
        readFilesBelow(
          { reader, pause, alsoRead, anyBytes, limits: { ...DEFAULT_TREE_LIMITS, ...limits } },
          tree,
          path,
        ),
      ),
    entriesAt: (commit, paths, { signal, maxFileBytes }) =>
      atVerified(context, commit, signal, ({ reader, pause }, { tree }) =>
        entriesBelow({ reader, pause, maxFileBytes }, tree, paths),
      ),
    readCommit: (commit, signal) => atCommit(context, commit, signal, async (_session, { info }) => info),
    hasCommit: (commit) =>
      context.repository.run(undefined, ({ reader }) => hasWholeCommit(reader, checkCommitId(commit))),
    isDescendant: (commit, ancestor, signal) =>
      atCommit(context, commit, signal, (session) => ancestry(session, commit, checkCommitId(ancestor))),
    keep(commits) {
      context.state.kept = commits.map(checkCommitId);
    },
  };
}

function createContext(options: GitSourceOptions, stats: TransportStats): Context {
  const { client, dataDir, id, reference } = options;
  const url = checkGitUrl(options.url);
  const limits = {
    ...DEFAULT_TRANSPORT_LIMITS,
    ...DEFAULT_PACK_LIMITS,
    ...DEFAULT_GROWTH_LIMITS,
    ...options.limits,
  };
  const address: Address = { movedTo: undefined };
  const transportOptions = async (signal?: AbortSignal) => {
    const credentials = (await options.credentials?.()) ?? {};
    return { client, url, credentials, limits, stats, address, signal };
  };
  const openTransport = async (signal?: AbortSignal) => createGitTransport(await transportOptions(signal));
  const directory = storeDirectory(dataDir, id, url);
  const repository = createRepository({ directory, openTransport, packLimits: limits, growth: limits });
  const state = { kept: [], last: undefined, growthFactor: 1 };
  const record = `poll/${referenceKey(reference)}`;
  const verifier = options.verification && createVerifier(options.verification);
  return { url, reference, record, repository, verifier, transportOptions, openTransport, state };
}
