import { createHash } from 'node:crypto';
import { type Source, sourceTimeoutMs } from '../../../api/source/source.ts';
import type { Forge } from '../../../contracts/forge.ts';
import type { CommitEntry, Repository } from '../../../contracts/git.ts';
import { createRenderCache } from '../../../render/render.ts';
import type { Snapshot, SourceParts, SourceState } from '../context/context.ts';
import { readSnapshot } from './read.ts';
import { infoOf, releaseIn } from './reproduce.ts';

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

/** New content of files by path; undefined takes a file out. */
export type FileChanges = ReadonlyMap<string, Uint8Array | undefined>;

/** The repository as if a commit had been made with these files. */
function withChanges(repository: Repository, changes: FileChanges): Repository {
  if (changes.size === 0) return repository;
  return {
    ...repository,
    async readFiles(commit, path, options) {
      const read = await repository.readFiles(commit, path, options);
      const kept = read.files.filter((file) => !changes.has(file.path));
      const inside = [...changes].filter(([file]) => path === '' || file.startsWith(`${path}/`));
      const added = inside.flatMap(([file, bytes]) =>
        bytes ? [{ path: file, oid: changedId(bytes), bytes }] : [],
      );
      return { ...read, files: [...kept, ...added].sort((a, b) => (a.path < b.path ? -1 : 1)) };
    },
    async entriesAt(commit, paths, options) {
      const found = new Map(await repository.entriesAt(commit, paths, options));
      for (const path of paths) {
        const entry = changedEntry(path, found.get(path), changes);
        if (entry) found.set(path, entry);
        else found.delete(path);
      }
      return found;
    },
  };
}

function changedEntry(
  path: string,
  entry: CommitEntry | undefined,
  changes: FileChanges,
): CommitEntry | undefined {
  const bytes = changes.get(path);
  if (bytes) return { kind: 'file', oid: changedId(bytes), bytes };
  if (changes.has(path)) return undefined;
  if (entry?.kind !== 'folder') return entry;
  const names = new Set(entry.names);
  for (const [file, content] of changes) {
    const slash = file.lastIndexOf('/');
    if (file.slice(0, Math.max(0, slash)) !== path) continue;
    if (content) names.add(file.slice(slash + 1));
    else names.delete(file.slice(slash + 1));
  }
  return { ...entry, names: [...names] };
}

/** An id that no blob of Git has, and that is another one for other bytes. */
function changedId(bytes: Uint8Array): string {
  return `changed ${createHash('sha256').update(bytes).digest('hex')}`;
}
