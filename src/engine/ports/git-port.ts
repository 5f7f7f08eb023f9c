/** What the engine needs of Git. */
import type { CommitInfo } from '../../api/observed.ts';
import type { Source } from '../../api/source.ts';
import type { RepositoryWriting } from './git-write-port.ts';

/** What a poll saw. `rewritten`: the new head is no proven descendant of the commit before. */
export interface PollResult {
  readonly kind: 'unchanged' | 'moved' | 'rewritten';
  readonly head: CommitInfo;
  readonly refName: string;
}

/** The manifests of one commit below a path. */
export interface CommitFiles {
  /** `oid` is Git's id of the content. */
  readonly files: ReadonlyArray<{ readonly path: string; readonly oid: string; readonly bytes: Uint8Array }>;
  readonly problems: ReadonlyArray<{ readonly path: string; readonly message: string }>;
}

/** The Git repository of one Source. Methods throw errors with a `code` that says what is wrong. */
export interface Repository extends RepositoryWriting {
  /** `previous`: the commit that was applied last; the answer says whether head descends from it. */
  poll(signal: AbortSignal, previous?: string): Promise<PollResult>;
  /** Equal ids mean equal content, so that rendering can be skipped. */
  treeOidAt(commit: string, path: string, signal?: AbortSignal): Promise<string>;
  readFiles(commit: string, path: string, options: { readonly signal: AbortSignal }): Promise<CommitFiles>;
  /** Full ids of the commits, besides head, that must survive when the store is built anew. Replaces the former list. */
  keep(commits: readonly string[]): void;
}

/** Opens a Source's repository; `secret` reads its Secret's values anew at each use. Throws for an address that is not allowed. */
export type OpenRepository = (
  source: Source,
  secret: () => Promise<Readonly<Record<string, Uint8Array>> | undefined>,
) => Repository;

/** Calls a Source's poll by its interval or schedule, or when woken. */
export interface Poller {
  start(): void;
  wake(): void;
  /** Aborts the poll under way and resolves when it has ended. */
  stop(): Promise<void>;
}

/** Makes the poller of a Source. Throws with a clear message when its schedule cannot be read. */
export type OpenPoller = (source: Source, poll: (signal: AbortSignal) => Promise<void>) => Poller;
