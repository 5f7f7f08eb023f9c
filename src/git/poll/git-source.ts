import { createFileReading } from '../store/files.ts';
import { hasWholeCommit } from '../store/objects.ts';
import type { GitSource } from '../types.ts';
import { referenceKey } from '../wire/references.ts';
import type { TransportStats } from '../wire/transport.ts';
import { createGitWriting, type Sign } from '../write/git-writing.ts';
import type { Identity } from '../write/new-objects.ts';
import {
  accessOf,
  atCommit,
  atVerifiedCommit,
  type ContextOptions,
  checkCommitId,
  createContext,
} from './context.ts';
import { ancestry } from './history.ts';
import { poll } from './poll.ts';

/** Settings of one Source's repository. */
export interface GitSourceOptions extends ContextOptions {
  /** Who commits; default Holdfast with an address that does not exist. */
  readonly identity?: Identity;
  /** Asked before each commit. Default: commits are not signed. */
  readonly signer?: () => Promise<Sign | undefined>;
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
    ...createFileReading((commit, signal, work) =>
      atVerifiedCommit(context, commit, signal, (session, { tree }) => work(session, tree)),
    ),
    stats,
    poll: (signal, previous) => poll(context, signal, previous),
    readCommit: (commit, signal) => atCommit(context, commit, signal, async (_session, { info }) => info),
    hasCommit: (commit) =>
      context.store.repository.run(accessOf(context), ({ reader }) =>
        hasWholeCommit(reader, checkCommitId(commit)),
      ),
    isDescendant,
    rendering: (commit, work, signal) => context.noted('render', commit, work, signal),
    keep(commits) {
      context.use.kept = commits.map(checkCommitId);
    },
    expectNews: () => context.store.listings.expire(),
    onNews: (listener) => context.store.listings.onNews(referenceKey(context.reference), listener),
  };
}
