/** What the engine needs of Git. */

import type { CommitStatus, NewPullRequest, PullRequest, PullRequestChange } from '../api/forge.ts';
import type { CommitInfo } from '../api/observed.ts';
import type { Source } from '../api/source/source.ts';

/** What a poll saw. `rewritten`: the new head is no proven descendant of the commit before. */
export interface PollResult {
  readonly kind: 'unchanged' | 'moved' | 'rewritten';
  readonly head: CommitInfo;
  readonly refName: string;
  /** Who signed it; undefined where signatures are not asked for. */
  readonly signer?: string;
}

/** The manifests of one commit below a path. */
export interface CommitFiles {
  /** `oid` is Git's id of the content. */
  readonly files: ReadonlyArray<{ readonly path: string; readonly oid: string; readonly bytes: Uint8Array }>;
  readonly problems: ReadonlyArray<{ readonly path: string; readonly message: string }>;
}

/** What a commit holds at one path. `refused`: something that is never read, such as a symbolic link; the message says so. */
export type CommitEntry =
  | { readonly kind: 'file'; readonly oid: string; readonly bytes: Uint8Array }
  | { readonly kind: 'folder'; readonly oid: string; readonly names: readonly string[] }
  | { readonly kind: 'refused'; readonly message: string };

/** What `readFiles` reads beside .yaml, .yml and .json. */
interface ReadFilesOptions {
  readonly signal: AbortSignal;
  /** Paths from the root that are read whatever their name. */
  readonly alsoRead?: (path: string) => boolean;
  /** Files need not be UTF-8 text. */
  readonly anyBytes?: boolean;
  readonly limits?: {
    readonly maxFiles?: number;
    readonly maxFileBytes?: number;
    readonly maxTotalBytes?: number;
  };
}

/** The Git repository of one Source. Methods throw errors with a `code` that says what is wrong. */
export interface Repository extends RepositoryWriting {
  /** `previous`: the commit that was applied last; the answer says whether head descends from it. */
  poll(signal: AbortSignal, previous?: string): Promise<PollResult>;
  /** Equal ids mean equal content, so that rendering can be skipped. */
  treeOidAt(commit: string, path: string, signal?: AbortSignal): Promise<string>;
  readFiles(commit: string, path: string, options: ReadFilesOptions): Promise<CommitFiles>;
  /** What a commit holds at these paths, from the root; no entry for a path that is not there. */
  entriesAt(
    commit: string,
    paths: readonly string[],
    options: { readonly signal: AbortSignal; readonly maxFileBytes: number },
  ): Promise<ReadonlyMap<string, CommitEntry>>;
  /** Full ids of the commits, besides head, that must survive when the store is built anew. Replaces the former list. */
  keep(commits: readonly string[]): void;
  /** Somebody said that there is news: the next poll asks the server, however short ago another Source of the repository did. */
  expectNews(): void;
  /** Calls `listener` when another Source of the repository found news of what this one follows. Returns how to end that. */
  onNews(listener: () => void): () => void;
}

/** Reads the values of a Secret anew at each use; undefined where the Source names none. Throws where it is not there. */
export type ReadSecret = () => Promise<Readonly<Record<string, Uint8Array>> | undefined>;

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
  /** Takes from the disk what no Source uses any more. Throws errors with a `code`. */
  sweep(): Promise<void>;
}

/**
 * Opens a Source's repository with its Secrets. Where signatures are asked for, no content of a
 * commit can be read that is not verified (S22). Throws for an address that is not allowed.
 */
export type OpenRepository = (source: Source, secrets: SourceSecrets) => Repository;

/** Calls a Source's poll by its interval or schedule, or when woken. */
export interface Poller {
  start(): void;
  wake(): void;
  /** Aborts the poll under way and resolves when it has ended. */
  stop(): Promise<void>;
}

/** Makes the poller of a Source. Throws with a clear message when its schedule cannot be read. */
export type OpenPoller = (source: Source, poll: (signal: AbortSignal) => Promise<void>) => Poller;

/** A commit to make on `parent` and to put on a ref in one push. */
interface NewCommit {
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
interface RepositoryWriting {
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

// What the engine needs of forges.

/**
 * A forge: pull requests and commit statuses of one repository. Methods throw errors with a `code`: Unauthorized,
 * Forbidden, NotFound, Unavailable (worth another try) or Invalid.
 */
export interface Forge {
  /** The product, for messages: `github`, `gitlab`, `gitea`, `bitbucket`. */
  readonly kind: string;
  /** Newest pull request whose source is this branch, open or closed; undefined when there is none. */
  findPullRequest(branch: string): Promise<PullRequest | undefined>;
  createPullRequest(request: NewPullRequest): Promise<PullRequest>;
  updatePullRequest(number: number, change: PullRequestChange): Promise<PullRequest>;
  comment(number: number, body: string): Promise<void>;
  closePullRequest(number: number): Promise<void>;
  setCommitStatus(commit: string, status: CommitStatus): Promise<void>;
}

/** Opens the forge of a Source's repository with the Source's Secrets; undefined when the host is no known forge. */
export type OpenForge = (
  source: Source,
  secrets: Pick<SourceSecrets, 'credentials' | 'proxy'>,
) => Promise<Forge | undefined>;
