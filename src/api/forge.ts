/** Pull requests and commit statuses of one repository, as forges, their adapters and the engine exchange them. */

/** A pull request (GitLab: merge request) as every forge can give it. */
export interface PullRequest {
  readonly number: number;
  /** The page people look at. */
  readonly url: string;
  readonly state: 'open' | 'closed' | 'merged';
  /** The source branch. */
  readonly branch: string;
  /** Id of the commit the branch has, or had when the request was closed. Bitbucket gives its first 12 digits only. */
  readonly head: string;
  /** Without the prefix that marks a draft. */
  readonly title: string;
  readonly body: string;
}

/** A pull request to open. */
export interface NewPullRequest {
  readonly branch: string;
  readonly base: string;
  readonly title: string;
  readonly body: string;
  readonly draft: boolean;
}

/** A commit status: one line per context on a commit. A later one of the same context takes the place of the former. */
export interface CommitStatus {
  readonly state: 'pending' | 'success' | 'failure' | 'error';
  readonly context: string;
  readonly description: string;
  readonly targetUrl?: string;
}
