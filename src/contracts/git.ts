/** What the engine needs of Git and of forges. Adapters import these, and add to them what only they and their tests use. */

import type { CommitInfo } from '../api/commit.ts';
import type { CommitStatus, NewPullRequest, PullRequest } from '../api/forge.ts';
import type { SecretValues } from '../api/kubernetes.ts';
import type { Source } from '../api/source/source.ts';

/**
 * What a poll saw.
 * `unchanged`: head is the previous commit. `moved`: head is new and descends from it, or there is no previous one.
 * `rewritten`: head is new and is no proven descendant (force-push, moved tag, or ancestry unknown within 1,000 commits).
 */
export interface PollResult {
  readonly kind: 'unchanged' | 'moved' | 'rewritten';
  readonly head: CommitInfo;
  /** Full name of the ref that was followed, for messages; the commit id itself for a fixed commit. */
  readonly refName: string;
  /** Who signed it; undefined where signatures are not asked for. */
  readonly signer?: string;
}

/** Answer to an ancestry question. A commit descends from itself. */
export type Ancestry = 'yes' | 'no' | 'unknown';

/** One file of a commit. `path` is relative to the repository's root, with `/`; `oid` is Git's id of the content. */
export interface GitFile {
  readonly path: string;
  readonly oid: string;
  readonly bytes: Uint8Array;
}

/** The manifests of one commit below a path, sorted by path; `problems` are entries that were not read. */
export interface CommitFiles {
  readonly files: readonly GitFile[];
  readonly problems: ReadonlyArray<{ readonly path: string; readonly message: string }>;
}

/** What a commit holds at one path. `refused`: something that is never read, such as a symbolic link; the message says so. */
export type CommitEntry =
  | { readonly kind: 'file'; readonly oid: string; readonly bytes: Uint8Array }
  | { readonly kind: 'folder'; readonly oid: string; readonly names: readonly string[] }
  | { readonly kind: 'refused'; readonly message: string };

/** What `readFiles` reads besides .yaml, .yml and .json. */
export interface ReadFilesOptions {
  readonly signal: AbortSignal;
  /** Paths from the root that are read whatever their name. */
  readonly alsoRead?: (path: string) => boolean;
  /** Files need not be UTF-8 text. Default: those that are not are problems. */
  readonly anyBytes?: boolean;
  readonly limits?: Partial<TreeLimits>;
}

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

/** The Git repository of one Source. Calls wait for one another. Methods throw errors with a `code` that says what is wrong. */
export interface Repository extends RepositoryWriting {
  /**
   * Asks the server where the reference points, fetches that commit when it is new, and compares it with `previous`, the full id of the
   * commit that was applied last (default: the head of the last poll, which the store keeps over restarts).
   */
  poll(signal: AbortSignal, previous?: string): Promise<PollResult>;
  /** Id of the tree at `path`, without reading files: equal ids mean equal content, so that rendering can be skipped. Throws PathNotFound. */
  treeOidAt(commit: string, path: string, signal?: AbortSignal): Promise<string>;
  /** The manifests below `path`. A commit that is not in the store is fetched by its id; throws NotFound when the server no longer has it. */
  readFiles(commit: string, path: string, options: ReadFilesOptions): Promise<CommitFiles>;
  /** Author, subject and time of a commit, fetched by id when missing. Throws NotFound. */
  readCommit(commit: string, signal?: AbortSignal): Promise<CommitInfo>;
  /** Whether `commit` descends from `ancestor`; unknown when 1,000 commits of history do not show it. May deepen. */
  isDescendant(commit: string, ancestor: string, signal?: AbortSignal): Promise<Ancestry>;
  /** What a commit holds at these paths, from the root; no entry for a path that is not there. Throws as `readFiles` does. */
  entriesAt(
    commit: string,
    paths: readonly string[],
    options: { readonly signal: AbortSignal; readonly maxFileBytes: number },
  ): Promise<ReadonlyMap<string, CommitEntry>>;
  /**
   * Full ids of the commits, besides head, that must survive when a store that grew too large is rebuilt (the last promoted ones). If the server
   * no longer has one that the store holds, the old store stays. Replaces the former list.
   */
  keep(commits: readonly string[]): void;
  /**
   * Runs work that renders a commit and records that it runs: a commit that ended the process twice is skipped for a while. Throws an error of
   * the code `ReadingSkipped`, and what the work throws.
   */
  rendering<T>(commit: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** A push was announced: the next poll asks the server, however recently another Source of the repository did. */
  expectNews(): void;
  /** Calls `listener` when another Source of the repository found a change of what this one follows. Returns a function that unsubscribes. */
  onNews(listener: () => void): () => void;
}

/** Reads the values of a Secret at each use; undefined if the Source names none. Throws if it does not exist. */
export type ReadSecret = () => Promise<SecretValues | undefined>;

/** The Secrets of a Source: of `secretRef`, `verify.secretRef` and `proxySecretRef`. */
export interface SourceSecrets {
  readonly credentials: ReadSecret;
  readonly signers: ReadSecret;
  readonly proxy: ReadSecret;
}

/** The repositories of all Sources. Those of one namespace with the same address and the same Secret share their store and their polls. */
export interface Repositories {
  readonly open: OpenRepository;
  /** The Source (`namespace/name`) is gone. */
  forget(sourceKey: string): void;
  /** What the stores take of the disk, for metrics. Times in milliseconds since the epoch. */
  usage(): {
    readonly stores: number;
    readonly packs: number;
    readonly bytes: number;
    readonly compactedMs: number | undefined;
  };
  /** Deletes from the disk what no Source uses any more. Throws errors with a `code`. */
  sweep(): Promise<void>;
}

/**
 * Opens a Source's repository with its Secrets. Where signatures are asked for, no content of a
 * commit can be read that is not verified (S22). Throws for an address that is not allowed.
 */
export type OpenRepository = (source: Source, secrets: SourceSecrets) => Repository;

/** Calls a Source's poll by its interval or schedule, or on request. */
export interface Poller {
  /** First poll at once. */
  start(): void;
  /** Polls as soon as the least interval allows; during a poll, once more after it. Many calls become one poll. */
  wake(): void;
  /** Aborts the poll under way and resolves when it has ended. */
  stop(): Promise<void>;
}

/** Makes the poller of a Source. Throws with a clear message when its schedule cannot be read. */
export type OpenPoller = (source: Source, poll: (signal: AbortSignal) => Promise<void>) => Poller;

/** A commit to create on `parent` and to push to a ref. */
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
  /** Makes a commit, signed when there is a key, and pushes it, never by force; its id. */
  commitFiles(commit: NewCommit, signal?: AbortSignal): Promise<string>;
  /**
   * Whether a commit has one parent, `head` or one that it descends from, and changes the files that are wanted at this parent, byte for byte, and
   * nothing else. Throws NotFound as `readPaths` does.
   */
  isExactly(
    commit: string,
    change: {
      readonly head: string;
      readonly filesAt: (parent: string) => Promise<NewCommit['files'] | undefined>;
    },
    signal?: AbortSignal,
  ): Promise<boolean>;
  /** Bytes of files at a commit; undefined for a path that is not there or no file. Throws NotFound when the commit cannot be fetched. */
  readPaths(
    commit: string,
    paths: readonly string[],
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, Uint8Array | undefined>>;
  /** Files that a commit changed against its first parent, sorted. Throws NotFound for a first commit, or when its parent cannot be fetched. */
  changesOf(
    commit: string,
    signal?: AbortSignal,
  ): Promise<{ readonly parent: string; readonly paths: readonly string[] }>;
}

/**
 * A forge: pull requests and commit statuses of one repository. Methods throw errors with a `code`: Unauthorized,
 * Forbidden, NotFound, Unavailable (worth another try) or Invalid.
 */
export interface Forge {
  /** The product, for messages: `github`, `gitlab`, `gitea`, `bitbucket`. */
  readonly kind: string;
  /** Newest pull request from this branch of this very repository, open or closed, never from a fork; undefined when there is none. */
  findPullRequest(branch: string): Promise<PullRequest | undefined>;
  /** Returns the one that is open for the branch already, if there is one. */
  createPullRequest(request: NewPullRequest): Promise<PullRequest>;
  comment(number: number, body: string): Promise<void>;
  /** Gives what it is then: one that is closed or merged already is left as it is. */
  closePullRequest(number: number): Promise<'closed' | 'merged'>;
  setCommitStatus(commit: string, status: CommitStatus): Promise<void>;
}

/** Opens the forge of a Source's repository with the Source's Secrets; undefined when the host is no known forge. Its requests end when the signal aborts. */
export type OpenForge = (
  source: Source,
  secrets: Pick<SourceSecrets, 'credentials' | 'proxy'>,
  signal: AbortSignal,
) => Promise<Forge | undefined>;
