/** Texts for forges: their limits. */
import { oneLine, shorten } from '../../api/limits.ts';

/** Longest description of a commit status (GitHub refuses more). */
export const DESCRIPTION_LIMIT = 140;
/** Longest title (GitLab, Gitea and Bitbucket: 255). */
export const TITLE_LIMIT = 255;
/** Longest body or comment; Bitbucket takes 32 KiB, the others more. */
export const BODY_LIMIT = 30_000;
/** The end of one that was longer. */
export const CUT = '\n\n(The rest was cut.)\n';

/** One line of at most `limit` characters, with an ellipsis where it was cut. */
export function singleLine(text: string, limit: number): string {
  return shorten(oneLine(text).trim(), limit);
}
