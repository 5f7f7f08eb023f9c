/** Texts for forges: their limits, and the prefix that marks a draft. */
import { beginningOf, oneLine, shorten } from '../../api/limits.ts';

/** Longest description of a commit status (GitHub refuses more). */
export const DESCRIPTION_LIMIT = 140;
/** Longest title (GitLab, Gitea and Bitbucket: 255). */
export const TITLE_LIMIT = 255;
/** Longest body or comment; Bitbucket takes 32 KiB, the others more. */
const BODY_LIMIT = 30_000;

const CUT = '\n\n(The rest was cut.)\n';

/** One line of at most `limit` characters, with an ellipsis where it was cut. */
export function singleLine(text: string, limit: number): string {
  return shorten(oneLine(text).trim(), limit);
}

/** Markdown of at most BODY_LIMIT characters that says when it was cut. */
export function limitedBody(text: string): string {
  return text.length <= BODY_LIMIT ? text : beginningOf(text, BODY_LIMIT - CUT.length) + CUT;
}

/** The prefix by which a title marks a draft, with the space after it; empty for a title without one. */
export function draftPrefix(title: string): string {
  return /^\s*(?:(?:draft|wip):\s*|\[(?:draft|wip)\]\s*|\(draft\)\s*)/i.exec(title)?.[0] ?? '';
}
