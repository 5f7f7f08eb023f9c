/** What the engine needs of forges. */
import type { CommitStatus, NewPullRequest, PullRequest, PullRequestChange } from '../../api/forge.ts';
import type { Source } from '../../api/source.ts';
import type { SourceSecrets } from './git-port.ts';

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
