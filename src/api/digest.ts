/**
 * A digest is `v1:` and 64 hex digits of what Git says; `+` and 16 more follow where tracked config is not in Git, and stand for its content
 * in the cluster.
 */

/** Whether a text is a digest of ours, and not a hash of Flagger's. */
export function isDigest(text: string | undefined): boolean {
  return text?.startsWith('v1:') === true;
}

/** What Git alone says of the release. */
export function gitPart(digest: string): string {
  return digest.split('+')[0] ?? digest;
}

/** What stands for config that is not in Git; undefined where none is tracked. */
export function livePart(digest: string): string | undefined {
  return digest.split('+')[1];
}
