import type { FileChanges } from './tree-edit.ts';

/** A commit to make and to put on a ref in one push. */
export interface CommitRequest {
  /** The commit it is made on. */
  readonly parent: string;
  readonly files: FileChanges;
  readonly message: string;
  /** Seconds since the epoch. */
  readonly time: number;
  /** Full name of the ref that moves to the new commit. */
  readonly ref: string;
  /** Where the ref must be for that; undefined: it must not exist. */
  readonly before: string | undefined;
}

/** What a commit changed against its first parent. */
export interface CommitChanges {
  readonly parent: string;
  /** Sorted. */
  readonly paths: readonly string[];
}

/**
 * Writing to the repository of one Source, and the reading that only writing needs. All methods throw GitError: Conflict when a ref is not
 * where it was seen, Rejected when the server said no, Unauthorized when the credentials may not push.
 */
export interface GitWriting {
  /** Refs on the server below a prefix, by full name. */
  listRefs(prefix: string, signal?: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Points a ref at a commit that the server has already. */
  moveRef(
    update: { readonly ref: string; readonly before: string | undefined; readonly after: string },
    signal?: AbortSignal,
  ): Promise<void>;
  /** Builds a commit, signed when there is a key, and pushes it; its id. Never forces anything. */
  commitFiles(request: CommitRequest, signal?: AbortSignal): Promise<string>;
  /** Bytes of the named files at a commit, fetched by id when missing; undefined for one that is not there or is no file. */
  readPaths(
    commit: string,
    paths: readonly string[],
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, Uint8Array | undefined>>;
  /** What a commit changed. Throws NotFound for a first commit, or when its parent cannot be had. */
  changesOf(commit: string, signal?: AbortSignal): Promise<CommitChanges>;
}
