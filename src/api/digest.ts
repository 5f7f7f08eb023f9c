/**
 * A digest is `v1:` and 64 hex digits of what Git says; `+` and 16 more follow where tracked config is not in Git, and stand for its content
 * in the cluster.
 */

/** Whether a text is a digest of Holdfast, and not a hash of Flagger. */
export function isDigest(text: string | undefined): boolean {
  return text?.startsWith('v1:') === true;
}

/** The part that stands for what is in Git. */
export function gitPart(digest: string): string {
  return digest.split('+')[0] ?? digest;
}

/** The part that stands for config that is not in Git; undefined where none is tracked. */
export function livePart(digest: string): string | undefined {
  return digest.split('+')[1];
}
