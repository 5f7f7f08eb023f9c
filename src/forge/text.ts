/** Text for forges: their limits, and the prefix that marks a draft. */

/** Longest description of a commit status (GitHub refuses more). */
export const DESCRIPTION_LIMIT = 140;
/** Longest title (GitLab, Gitea and Bitbucket: 255). */
export const TITLE_LIMIT = 255;
/** Longest body or comment; Bitbucket takes 32 KiB, the others more. */
export const BODY_LIMIT = 30_000;

const CUT = '\n\n(The rest was cut.)\n';
const DRAFT = /^\s*(?:(?:draft|wip):\s*|\[(?:draft|wip)\]\s*|\(draft\)\s*)/i;

/** One line of at most `limit` characters, with an ellipsis where it was cut. */
export function line(text: string, limit: number): string {
  const single = text.replace(/\s+/g, ' ').trim();
  return single.length <= limit ? single : `${head(single, limit - 1).trimEnd()}…`;
}

/** Markdown of at most BODY_LIMIT characters that says when it was cut. */
export function body(text: string): string {
  return text.length <= BODY_LIMIT ? text : head(text, BODY_LIMIT - CUT.length) + CUT;
}

/** Whether a title marks a draft. */
export function isDraftTitle(title: string): boolean {
  return DRAFT.test(title);
}

/** The title without the prefix of a draft. */
export function plainTitle(title: string): string {
  return title.replace(DRAFT, '');
}

/** Cuts without leaving half of a surrogate pair. */
function head(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}
