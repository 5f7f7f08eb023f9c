import { bareCommit } from '../../../api/commit.ts';
import { type Source, sourceTimeoutMs } from '../../../api/source/source.ts';
import type { Forge, RepositoryWriting } from '../../../contracts/git.ts';
import { createRenderCache } from '../../../render/render.ts';
import type { Snapshot, SourceContext } from '../context/context.ts';
import { type FileChanges, withChanges } from './commit-files.ts';
import { apart, releaseIn } from './older-commit.ts';
import { readSnapshot } from './read.ts';

/** One Source as its writing half sees it. */
export interface SourceGit {
  readonly source: Source;
  readonly repository: RepositoryWriting;
  /** The commit that is applied now; undefined before the first read. */
  readonly head: () => string | undefined;
  /** The ledger's commit of a Canary, as seen last. */
  readonly ledger: (canaryKey: string) => string | undefined;
  /** Remembers where the ledger is now; undefined: somebody deleted it. */
  readonly noteLedger: (canaryKey: string, commit: string | undefined) => void;
  /** Polls soon. */
  readonly wake: () => void;
  readonly forge: () => Promise<Forge | undefined>;
  /** The Source as it renders at a commit, with these files in the place of the commit's. Changes nothing. Throws Git's errors. */
  readonly render: (commit: string, changes?: FileChanges) => Promise<Snapshot>;
  /** Digest of a Canary's release in a rendering. */
  readonly digestIn: (snapshot: Snapshot, canaryKey: string) => string | undefined;
}

/** Looks at a Source that is being followed with an eye to writing. What takes time ends when the signal aborts. */
export function createSourceGit(
  context: SourceContext,
  { forge, wake, signal }: Pick<SourceGit, 'forge' | 'wake'> & { readonly signal: AbortSignal },
): SourceGit {
  const { parts, source, state } = context;
  return {
    source,
    repository: writingUntil(state.repository, signal),
    head: () => state.snapshot?.commit.commit,
    ledger: (canaryKey) => state.ledger?.commits.get(canaryKey),
    noteLedger(canaryKey, commit) {
      const commits = new Map(state.ledger?.commits);
      if (commit === undefined) commits.delete(canaryKey);
      else commits.set(canaryKey, commit);
      state.ledger = { commits, leadOn: state.ledger?.leadOn ?? new Map() };
    },
    forge,
    wake,
    async render(commit, changes = new Map()) {
      const repository = withChanges(state.repository, changes);
      const reading = apart({ ...context, state: { ...state, repository, rendered: createRenderCache() } });
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(sourceTimeoutMs(source))]);
      return readSnapshot(reading, { commit: bareCommit(commit), signal: inTime });
    },
    digestIn: (snapshot, canaryKey) => releaseIn(parts, snapshot, canaryKey).ok?.digest,
  };
}

function writingUntil(repository: RepositoryWriting, signal: AbortSignal): RepositoryWriting {
  return {
    listRefs: (prefix) => repository.listRefs(prefix, signal),
    moveRef: (update) => repository.moveRef(update, signal),
    commitFiles: (commit) => repository.commitFiles(commit, signal),
    isExactly: (commit, change) => repository.isExactly(commit, change, signal),
    readPaths: (commit, paths) => repository.readPaths(commit, paths, signal),
    changesOf: (commit) => repository.changesOf(commit, signal),
  };
}
