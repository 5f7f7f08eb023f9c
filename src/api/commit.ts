/** Where a release came from. */
export interface CommitInfo {
  /** Full SHA, or empty when the release came from no Source. */
  commit: string;
  subject: string;
  author: string;
  /** RFC 3339. */
  time: string;
  /** It joins two lines of history; absent: it does not, or that is unknown. */
  isMerge?: boolean;
}

/** A commit of which only the id is known; none without it. */
export function bareCommit(commit = ''): CommitInfo {
  return { commit, subject: '', author: '', time: '' };
}

/** A full SHA: of a status nothing else may get into a command, which people paste into a shell. */
export function isCommit(text: string | undefined): text is string {
  return text !== undefined && /^[0-9a-f]{40,64}$/.test(text);
}
