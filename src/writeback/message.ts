import type { CanaryStatus } from '../api/canary-status.ts';
import type { WantedRevert } from './decide.ts';
import type { CanaryInCluster } from './names.ts';

/** What a revert in Git is told with. */
export interface RevertStory {
  readonly where: CanaryInCluster;
  readonly revert: WantedRevert;
  /** First line of the rejected commit's message; empty when it is not known. */
  readonly subject: string;
  /** What was measured and seen, as Markdown. */
  readonly evidence: string;
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

/** Body of the pull request, as Markdown; the commit says the same. */
export function revertBody(story: RevertStory): string {
  const { where, revert, evidence, files, whole } = story;
  const lines = [
    `Commit ${revert.bad} was rolled out as Canary ${where.namespace}/${where.canary} in cluster ${where.cluster} and failed (${revert.reason}).`,
    `The cluster went back to ${revert.good}, and stays there until Git holds another release. Git still holds the rejected one.`,
    '',
    ...(evidence ? [evidence.trim(), ''] : []),
    ...(whole ? wholeLines(whole) : exactLines()),
    '',
    'Files:',
    ...files.map((file) => `- ${file}`),
    '',
    'A fix as a new commit is just as good: this is closed then. Nothing is written a second time for this release.',
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

function wholeLines({ why, others }: NonNullable<RevertStory['whole']>): string[] {
  const concerned = others.length > 0 ? others.map((name) => `- ${name}`) : ['- no other object'];
  return [
    `**The whole commit is taken back here**, because ${why}. Please check before merging; this also changes:`,
    '',
    ...concerned,
  ];
}

/** What the status knows of a failure, as Markdown: the finding, and the checks that did not pass. */
export function evidenceOf(status: CanaryStatus, finding: string): string {
  const rows = (status.checks ?? [])
    .filter(({ verdict }) => verdict === 'fail')
    .map(({ name, value, min, max, detail }) => {
      const bounds = [min === undefined ? '' : `min ${min}`, max === undefined ? '' : `max ${max}`];
      return `| ${cell(name)} | ${value ?? ''} | ${bounds.filter(Boolean).join(', ')} | ${cell(detail ?? '')} |`;
    });
  const table =
    rows.length > 0 ? ['', '| check | value | bound | detail |', '|---|---|---|---|', ...rows] : [];
  return [finding, ...table].join('\n').trim();
}

function cell(text: string): string {
  return text.replace(/[|\r\n]+/g, ' ');
}

/** Said on a pull request that is closed because Git moved on. */
export function closedComment(head: string): string {
  return `Closed: ${head.slice(0, 7)} holds another release, so there is nothing left to take back.`;
}

/** Said on the pull request when another commit brings the rejected release back. */
export function bumpComment(commit: string, digest: string): string {
  return `${commit} holds the same release again (${digest.slice(0, 15)}). It stays rejected and is not rolled out; to try it anyway, annotate the Canary with holdfast.dev/retry.`;
}
