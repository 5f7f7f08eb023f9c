import { escapedMarkdown } from '../api/incident-text.ts';
import type { WantedRevert } from './decide.ts';
import { type Evidence, evidenceText, type MessageFormat } from './evidence.ts';
import type { CanaryInCluster } from './names.ts';

/** What a revert in Git is told with. */
export interface RevertStory {
  readonly where: CanaryInCluster;
  readonly revert: WantedRevert;
  /** First line of the rejected commit's message; empty when it is not known. */
  readonly subject: string;
  readonly evidence: Evidence;
  /** Root of the pages that runbooks are linked to. */
  readonly documentation: string | undefined;
  /** Files that are written. */
  readonly files: readonly string[];
  /** Set when the whole commit is taken back: why, and which other objects change with it. */
  readonly whole?: { readonly why: string; readonly others: readonly string[] } | undefined;
}

const MAX_TITLE = 72;

/** Title of the commit and of the pull request. */
export function revertTitle({ where, subject, revert }: RevertStory): string {
  const name = `${where.namespace}/${where.canary}`;
  const what = subject ? `Revert "${subject}"` : `Revert ${revert.bad.slice(0, 7)}`;
  const title = `${what} for ${name}`;
  return title.length <= MAX_TITLE
    ? title
    : `Revert ${revert.bad.slice(0, 7)} for ${name}`.slice(0, MAX_TITLE);
}

/** Body of the pull request, as Markdown, and of the commit, as text: the news as it was told, and what is done about it here. */
export function revertBody(story: RevertStory, format: MessageFormat): string {
  const { where, revert, evidence, files, whole, documentation } = story;
  const byCommit = revert.mode === 'commit' && !whole;
  const next = byCommit
    ? 'the Canary is Succeeded once this commit is read; no pod restarts for it'
    : 'nothing by itself; merge this, or push a fix as a new commit';
  const lines = [
    evidenceText(evidence, { revert, next }, { format, documentation }),
    '',
    `Commit ${revert.bad} was rolled out as Canary ${where.namespace}/${where.canary} in cluster ${where.cluster} and failed (${revert.reason}).`,
    `The cluster went back to ${revert.good}, and stays there until Git holds another release.`,
    '',
    ...(whole ? wholeLines(whole, format) : exactLines()),
    '',
    'Files:',
    ...files.map((file) => (format === 'markdown' ? `- ${escapedMarkdown(file)}` : `- ${file}`)),
    '',
    ...(byCommit ? [] : ['A fix as a new commit is just as good: this is closed then.']),
    'Nothing is written a second time for this release.',
    '',
    `Holdfast-Canary: ${where.namespace}/${where.canary}`,
    `Holdfast-Cluster: ${where.cluster}`,
    `Holdfast-Rejected: ${revert.digest}`,
  ];
  return lines.join('\n');
}

function exactLines(): string[] {
  return [
    'Only the lines of this workload are taken back; what else the commit changed, and every later commit, stays.',
    'The result was rendered: the release is byte for byte the last-known-good, and no other object changes.',
  ];
}

function wholeLines({ why, others }: NonNullable<RevertStory['whole']>, format: MessageFormat): string[] {
  const concerned = others.length > 0 ? others.map((name) => `- ${name}`) : ['- no other object'];
  const because = format === 'markdown' ? escapedMarkdown(why) : why;
  const mark = format === 'markdown' ? '**' : '';
  return [
    `${mark}The whole commit is taken back here${mark}, because ${because}. Please check before merging; this also changes:`,
    '',
    ...concerned,
  ];
}

/** Said on a pull request that is closed because Git moved on. */
export function closedComment(head: string): string {
  return `Closed: ${head.slice(0, 7)} holds another release, so there is nothing left to take back.`;
}

/** Said on the pull request when another commit brings the rejected release back. */
export function bumpComment(commit: string, digest: string): string {
  return `${commit} holds the same release again (${digest.slice(0, 15)}). It stays rejected and is not rolled out; to try it anyway, annotate the Canary with holdfast.dev/retry.`;
}
