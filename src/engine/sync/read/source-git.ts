import { bareCommit } from '../../../api/observed.ts';
import { type Source, sourceTimeoutMs } from '../../../api/source/source.ts';
import type { Forge } from '../../../contracts/forge.ts';
import type { Repository } from '../../../contracts/git.ts';
import { createRenderCache } from '../../../render/render.ts';
import type { SourceContext } from '../context/context.ts';
import type { Snapshot } from '../context/state.ts';
import { type FileChanges, withChanges } from './commit-files.ts';
import { apart, releaseIn } from './older-commit.ts';
import { readSnapshot } from './read.ts';

/** One Source as its writing half sees it. */
export interface SourceGit {
  readonly source: Source;
  readonly repository: Repository;
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

/** Looks at a Source that is being followed with an eye to writing. */
export function createSourceGit(
  context: SourceContext,
  { forge, wake }: Pick<SourceGit, 'forge' | 'wake'>,
): SourceGit {
  const { parts, source, state } = context;
  return {
    source,
    repository: state.repository,
    head: () => state.snapshot?.commit.commit,
    ledger: (canaryKey) => state.ledger?.commits.get(canaryKey),
    noteLedger(canaryKey, commit) {
      const commits = new Map(state.ledger?.commits);
      if (commit === undefined) commits.delete(canaryKey);
      else commits.set(canaryKey, commit);
      state.ledger = { commits };
    },
    forge,
    wake,
    async render(commit, changes = new Map()) {
      const repository = withChanges(state.repository, changes);
      const reading = apart({ ...context, state: { ...state, repository, rendered: createRenderCache() } });
      const signal = AbortSignal.timeout(sourceTimeoutMs(source));
      return readSnapshot(reading, { commit: bareCommit(commit), signal });
    },
    digestIn: (snapshot, canaryKey) => releaseIn(parts, snapshot, canaryKey).ok?.digest,
  };
}
