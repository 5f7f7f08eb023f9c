/** What the engine needs of forges. */
import type { Source } from '../../api/source.ts';

/** One pull request (merge request) as the forge tells it. */
export interface PullRequest {
  readonly number: number;
  readonly url: string;
  readonly state: 'open' | 'closed' | 'merged';
  /** The source branch. */
  readonly branch: string;
  /** Full id of the commit the branch has, or had when the request was closed. */
  readonly head: string;
  readonly title: string;
  readonly body: string;
}

/** A commit status: one line per context on a commit. A later one of the same context takes the place of the former. */
export interface CommitStatus {
  readonly state: 'pending' | 'success' | 'failure' | 'error';
  readonly context: string;
  readonly description: string;
  readonly targetUrl?: string;
}

/**
 * A forge: pull requests and commit statuses of one repository. Methods throw errors with a `code`: Unauthorized,
 * Forbidden, NotFound, Unavailable (worth another try) or Invalid.
 */
export interface Forge {
  /** The product, for messages: `github`, `gitlab`, `gitea`, `bitbucket`. */
  readonly kind: string;
  /** Newest pull request whose source is this branch, open or closed; undefined when there is none. */
  findPullRequest(branch: string): Promise<PullRequest | undefined>;
  createPullRequest(request: {
    readonly branch: string;
    readonly base: string;
    readonly title: string;
    readonly body: string;
    readonly draft: boolean;
  }): Promise<PullRequest>;
  updatePullRequest(
    number: number,
    change: { readonly title?: string; readonly body?: string },
  ): Promise<PullRequest>;
  comment(number: number, body: string): Promise<void>;
  closePullRequest(number: number): Promise<void>;
  setCommitStatus(commit: string, status: CommitStatus): Promise<void>;
}

/** Opens the forge of a Source's repository with the Source's Secret; undefined when the host is no known forge. */
export type OpenForge = (
  source: Source,
  secret: () => Promise<Readonly<Record<string, Uint8Array>> | undefined>,
) => Promise<Forge | undefined>;
