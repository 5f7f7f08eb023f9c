/** What names a release: the commit that it came from, and its digest. */

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

// A digest is `v1:` and 64 hex digits for the content in Git. Where tracked config is not in Git, `+` and 16 more follow for its content in the
// cluster.

/** Whether a text is a digest of Holdfast; Flagger writes a hash to the same field. */
export function isDigest(text: string | undefined): boolean {
  return text?.startsWith('v1:') === true;
}

/** The part of a digest for the content in Git. */
export function gitPart(digest: string): string {
  return digest.split('+')[0] ?? digest;
}

/** The part of a digest for config outside Git; undefined if none is tracked. */
export function livePart(digest: string): string | undefined {
  return digest.split('+')[1];
}
