import type { CommitEntry, CommitFiles, ReadFilesOptions, Repository } from '../contracts/git.ts';

/** Which commit a Source follows. At most one field; none means the branch that the server's HEAD names. */
export interface GitReference {
  readonly branch?: string;
  readonly tag?: string;
  /** Full 40-digit commit id. */
  readonly commit?: string;
  /** A version range; the highest tag inside it is followed. */
  readonly semver?: string;
}

/** An entry that was not read; it concerns this path only. */
export interface FileProblem {
  readonly path: string;
  readonly reason: 'Symlink' | 'Submodule' | 'UnsafeName' | 'TooLarge' | 'NotUtf8' | 'LfsPointer';
  /** What is wrong and what to do, one sentence. */
  readonly message: string;
}

/** The contract's files, with the reason of each problem: the engine only needs its message. */
export interface ManifestFiles extends CommitFiles {
  readonly problems: readonly FileProblem[];
}

/** The contract's repository, and what the command line and tests ask of one besides. All methods throw GitError. */
export interface GitSource extends Repository {
  readFiles(commit: string, path: string, options?: Partial<ReadFilesOptions>): Promise<ManifestFiles>;
  entriesAt(
    commit: string,
    paths: readonly string[],
    options: { readonly signal?: AbortSignal; readonly maxFileBytes: number },
  ): Promise<ReadonlyMap<string, CommitEntry>>;
  /** Whether the store holds this commit and its root tree. No network. */
  hasCommit(commit: string): Promise<boolean>;
}
