/** A commit to make on `parent` and to put on a ref in one push. */
export interface NewCommit {
  readonly parent: string;
  /** New content by path; undefined takes the file out. */
  readonly files: ReadonlyMap<string, Uint8Array | undefined>;
  readonly message: string;
  /** Seconds since the epoch. */
  readonly time: number;
  /** Full name of the ref. */
  readonly ref: string;
  /** Where the ref must be for that; undefined: it must not exist. */
  readonly before: string | undefined;
}

/**
 * Writing to a Source's repository and the reading that only writing needs. Errors carry a `code`: Conflict (the ref is not where it was
 * seen), Rejected (the server said no), Unauthorized (the credentials may not push), NotFound, and those of reading.
 */
export interface RepositoryWriting {
  /** Refs on the server below a prefix, by full name. */
  listRefs(prefix: string, signal?: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Points a ref at a commit that the server has already. */
  moveRef(
    update: { readonly ref: string; readonly before: string | undefined; readonly after: string },
    signal?: AbortSignal,
  ): Promise<void>;
  /** Makes a commit and pushes it, never by force; its id. */
  commitFiles(commit: NewCommit, signal?: AbortSignal): Promise<string>;
  /** Bytes of files at a commit; undefined for one that is not there. Throws NotFound when the commit cannot be had. */
  readPaths(
    commit: string,
    paths: readonly string[],
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, Uint8Array | undefined>>;
  /** Files that a commit changed against its first parent. Throws NotFound when there is none. */
  changesOf(
    commit: string,
    signal?: AbortSignal,
  ): Promise<{ readonly parent: string; readonly paths: readonly string[] }>;
}
