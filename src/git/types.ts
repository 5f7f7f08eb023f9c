import type { CommitInfo } from '../api/observed.ts';

/** Which commit a Source follows. At most one field; none means the branch that the server's HEAD names. */
export interface GitReference {
  readonly branch?: string;
  readonly tag?: string;
  /** Full 40-digit commit id. */
  readonly commit?: string;
  /** A version range; the highest tag inside it is followed. */
  readonly semver?: string;
}

/**
 * What a poll saw.
 * `unchanged`: head is the previous commit. `moved`: head is new and descends from it, or there is no previous one.
 * `rewritten`: head is new and is no proven descendant (force-push, moved tag, or ancestry unknown within 1,000 commits).
 */
export interface PollResult {
  readonly kind: 'unchanged' | 'moved' | 'rewritten';
  readonly head: CommitInfo;
  /** Object id of the root tree of head. */
  readonly treeOid: string;
  /** Full name of the ref that was followed, for messages; the commit id itself for a fixed commit. */
  readonly refName: string;
  /** Who signed it; undefined where signatures are not asked for. */
  readonly signer?: string;
}

/** One file of a commit. `path` is relative to the repository's root, with `/`. `bytes` are valid UTF-8. */
export interface GitFile {
  readonly path: string;
  readonly oid: string;
  readonly bytes: Uint8Array;
}

/** An entry that was not read; it concerns this path only. */
export interface FileProblem {
  readonly path: string;
  readonly reason: 'Symlink' | 'Submodule' | 'UnsafeName' | 'TooLarge' | 'NotUtf8' | 'LfsPointer';
  /** What is wrong and what to do, one sentence. */
  readonly message: string;
}

/** The manifests below a path at one commit. */
export interface CommitFiles {
  /** Sorted by path. */
  readonly files: readonly GitFile[];
  readonly problems: readonly FileProblem[];
  /** Object id of the tree at the path: the same id means the same content, so rendering can be skipped. */
  readonly treeOid: string;
}

/** What a commit holds at one path. `refused`: something that is never read, such as a symbolic link; the message says so. */
export type CommitEntry =
  | { readonly kind: 'file'; readonly oid: string; readonly bytes: Uint8Array }
  | { readonly kind: 'folder'; readonly oid: string; readonly names: readonly string[] }
  | { readonly kind: 'refused'; readonly message: string };

/** Bounds of one tree walk. */
export interface TreeLimits {
  /** Entries looked at, of any kind. Default 50,000. */
  readonly maxEntries: number;
  /** Manifests read. Default 10,000. */
  readonly maxFiles: number;
  /** Folders inside one another. Default 64. */
  readonly maxDepth: number;
  /** Bytes of one file; a larger one is a problem of that file. Default 1 MiB. */
  readonly maxFileBytes: number;
  /** Bytes of all files together. Default 64 MiB. */
  readonly maxTotalBytes: number;
}

/** Repository of one Source. All methods throw GitError. Calls on the same repository wait for one another. */
export interface GitSource {
  /**
   * Asks the server where the reference points, fetches when that commit is not in the store, and compares it with
   * `previous` (a full commit id; default: the head of the last poll, which the store keeps over restarts).
   */
  poll(signal: AbortSignal, previous?: string): Promise<PollResult>;
  /** Object id of the tree at `path` in this commit, without reading files. Throws PathNotFound. */
  treeOidAt(commit: string, path: string, signal?: AbortSignal): Promise<string>;
  /**
   * The .yaml, .yml and .json files below `path`. A commit that is not in the store is fetched by its id first;
   * where the server no longer has it, this throws NotFound.
   */
  readFiles(commit: string, path: string, options?: ReadOptions): Promise<CommitFiles>;
  /** What a commit holds at these paths, from the root; no entry for a path that is not there. Throws as `readFiles` does. */
  entriesAt(
    commit: string,
    paths: readonly string[],
    options: { readonly signal?: AbortSignal; readonly maxFileBytes: number },
  ): Promise<ReadonlyMap<string, CommitEntry>>;
  /** Author, subject and time of a commit, fetched by id when missing. Throws NotFound. */
  readCommit(commit: string, signal?: AbortSignal): Promise<CommitInfo>;
  /** Whether the store holds this commit and its root tree. No network. */
  hasCommit(commit: string): Promise<boolean>;
  /** Whether `commit` descends from `ancestor`; unknown when history within 1,000 commits does not tell. May deepen. */
  isDescendant(commit: string, ancestor: string, signal?: AbortSignal): Promise<Ancestry>;
  /**
   * Names the commits, besides head, that must survive when an outgrown store is built anew (the last promoted ones).
   * If the server no longer has one that the store holds, the old store stays. Replaces the former list.
   */
  keep(commits: readonly string[]): void;
  /** Somebody said that there is news: the next poll asks the server, however short ago another Source did. */
  expectNews(): void;
  /** Calls `listener` when another Source of the repository found news of this one's reference. Returns how to end that. */
  onNews(listener: () => void): () => void;
}

/** Answer to an ancestry question. A commit descends from itself. */
export type Ancestry = 'yes' | 'no' | 'unknown';

/** Options of `readFiles`. */
export interface ReadOptions {
  readonly limits?: Partial<TreeLimits>;
  readonly signal?: AbortSignal;
  /** Besides .yaml, .yml and .json, read files for which this is true (full path from the root). */
  readonly alsoRead?: (path: string) => boolean;
  /** Files need not be UTF-8 text. Default: those that are not are problems. */
  readonly anyBytes?: boolean;
}
