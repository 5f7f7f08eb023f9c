import { sourceTimeoutMs } from '../../api/effective.ts';
import type { Source } from '../../api/source.ts';
import { createRenderCache } from '../../render/cache.ts';
import type { Forge } from '../ports/forge-port.ts';
import type { Repository } from '../ports/git-port.ts';
import { type FileChanges, withChanges } from './file-changes.ts';
import { infoOf, releaseIn } from './reproduce.ts';
import type { Snapshot, SourceParts, SourceState } from './source-parts.ts';
import { readSnapshot } from './source-read.ts';

/** One Source as its writing half sees it. */
export interface SourceGit {
  readonly source: Source;
  readonly repository: Repository;
  /** The commit that is applied now; undefined before the first read. */
  readonly head: () => string | undefined;
  /** The ledger's commit of a Canary, as seen last. */
  readonly ledger: (canaryKey: string) => string | undefined;
  /** Remembers where the ledger is now; without a commit it is read again. */
  readonly noteLedger: (canaryKey: string, commit: string) => void;
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
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { forge, wake }: Pick<SourceGit, 'forge' | 'wake'>,
): SourceGit {
  return {
    source,
    repository: state.repository,
    head: () => state.snapshot?.commit.commit,
    ledger: (canaryKey) => state.ledger?.commits.get(canaryKey),
    noteLedger(canaryKey, commit) {
      state.ledger = { commits: new Map([...(state.ledger?.commits ?? []), [canaryKey, commit]]) };
    },
    forge,
    wake,
    async render(commit, changes = new Map()) {
      const repository = withChanges(state.repository, changes);
      const apart = { ...state, repository, previous: new Map(), rendered: createRenderCache() };
      const signal = AbortSignal.timeout(sourceTimeoutMs(source));
      return readSnapshot(parts, source, apart, { commit: infoOf(commit), signal });
    },
    digestIn: (snapshot, canaryKey) => releaseIn(parts, snapshot, canaryKey).ok?.digest,
  };
}
