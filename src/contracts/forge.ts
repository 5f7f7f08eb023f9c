/** What the engine needs of forges. Adapters import these, and add to them what only they and their tests use. */
import type { CommitStatus, NewPullRequest, PullRequest } from '../api/forge.ts';
import type { Source } from '../api/source/source.ts';
import type { SourceSecrets } from './git.ts';

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
