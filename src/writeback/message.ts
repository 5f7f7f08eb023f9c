import type { CanaryStatus, CheckResult } from '../api/canary/status.ts';
import {
  escapedMarkdown,
  type Fact,
  factsOf,
  type Incident,
  markdownOf,
  withoutMentions,
} from '../api/incident.ts';
import type { WantedRevert } from './decide.ts';
import type { CanaryInCluster } from './names.ts';

/** What a revert in Git is told with. */
export interface RevertDescription {
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
export function revertTitle({ where, subject, revert }: RevertDescription): string {
  const name = `${where.namespace}/${where.canary}`;
  const what = subject ? `Revert "${subject}"` : `Revert ${revert.bad.slice(0, 7)}`;
  const title = `${what} for ${name}`;
  return title.length <= MAX_TITLE
    ? title
    : `Revert ${revert.bad.slice(0, 7)} for ${name}`.slice(0, MAX_TITLE);
}

/** Body of the pull request, as Markdown, and of the commit, as text: the news as it was told, and what is done about it here. */
export function revertBody(story: RevertDescription, format: MessageFormat): string {
  const { where, revert, evidence, files, whole, documentation } = story;
  const byCommit = revert.mode === 'commit' && !whole;
  const next = byCommit
    ? 'the Canary is Succeeded once this commit is read; no pod restarts for it'
    : 'nothing by itself; merge this, or push a fix as a new commit';
  const lines = [
    evidenceText(evidence, { revert, next }, { format, documentation }),
    '',
    `Commit ${revert.bad} was rolled out as Canary ${where.namespace}/${where.canary} in cluster ${where.cluster} and failed (${revert.reason}).`,
    `The cluster went back to ${revert.good}, and stays there until Git has another release.`,
    '',
    ...(whole ? wholeLines(whole, format) : exactLines()),
    '',
    'Files:',
    ...files.map((file) => (format === 'markdown' ? `- ${escapedMarkdown(file)}` : `- ${file}`)),
    '',
    ...(byCommit ? [] : ['You can push a fix as a new commit instead; this is closed then.']),
    'This release is not reverted a second time.',
    '',
    `Holdfast-Canary: ${where.namespace}/${where.canary}`,
    `Holdfast-Cluster: ${where.cluster}`,
    `Holdfast-Rejected: ${revert.digest}`,
  ];
  return lines.join('\n');
}

function exactLines(): string[] {
  return [
    'Only the lines of this workload are reverted; all other changes of this commit and of later commits stay.',
    'The result was rendered: the release is byte for byte the last-known-good, and no other object changes.',
  ];
}

function wholeLines(
  { why, others }: NonNullable<RevertDescription['whole']>,
  format: MessageFormat,
): string[] {
  const concerned = others.length > 0 ? others.map((name) => `- ${name}`) : ['- no other object'];
  const because = format === 'markdown' ? escapedMarkdown(why) : why;
  const mark = format === 'markdown' ? '**' : '';
  return [
    `${mark}This reverts the whole commit${mark}, because ${because}. Please check before merging; this also changes:`,
    '',
    ...concerned,
  ];
}

/** Said on a pull request that is closed because Git moved on. */
export function closedComment(head: string): string {
  return `Closed: ${head.slice(0, 7)} has another release, so there is nothing left to revert.`;
}

/** Said on the pull request when another commit brings the rejected release back. */
export function bumpComment(commit: string, digest: string): string {
  return `${commit} has the same release again (${digest.slice(0, 15)}). It stays rejected and is not rolled out; to try it anyway, annotate the Canary with holdfast.dev/retry.`;
}

/** Pull requests are Markdown; commit messages are read as they are. */
type MessageFormat = 'markdown' | 'text';

/** Why a release was reverted. */
interface Evidence {
  /** What people were told of it; undefined when so much happened since that it is not kept any more. */
  readonly incident: Incident | undefined;
  /** Checks that did not pass. */
  readonly failed: readonly CheckResult[];
}

/** What a Canary's status says of a release that was reverted. */
export function evidenceFor(status: CanaryStatus, digest: string): Evidence {
  const isIt = ({ key, outcome }: Incident) => outcome === 'Reverted' && key.startsWith(`${digest}/`);
  return {
    incident: status.incidents?.find(isIt),
    failed: (status.checks ?? []).filter(({ verdict }) => verdict === 'fail'),
  };
}

/** Facts of the news that a revert in Git says for itself: it is the command, and what comes next. */
const ownFacts: ReadonlySet<string> = new Set(['You can run', 'Next']);

/** What the alerts said, with what this revert changes about it. `documentation` is the root of the pages that runbooks are linked to. */
function evidenceText(
  { incident, failed }: Evidence,
  { revert, next }: { readonly revert: WantedRevert; readonly next: string },
  { format, documentation }: { readonly format: MessageFormat; readonly documentation: string | undefined },
): string {
  const isMarkdown = format === 'markdown';
  const checks = isMarkdown ? checksTable(failed) : checksList(failed);
  if (!incident) {
    const finding = isMarkdown ? escapedMarkdown(revert.finding) : plain(revert.finding);
    return [finding, ...checks].join('\n').trim();
  }
  const facts = factsOf(incident).filter(({ title }) => !ownFacts.has(title));
  const all = [...facts.map((fact) => linked(fact, documentation)), { title: 'Next', value: next }];
  return [isMarkdown ? markdownOf(incident, all) : textOf(incident, all), ...checks].join('\n');
}

function textOf({ message }: Incident, facts: readonly Fact[]): string {
  return [plain(message), '', ...facts.map(({ title, value }) => `${title}: ${plain(value)}`)].join('\n');
}

/** On one line, so that nothing that was found can look like a line of ours, or call anybody. */
function plain(text: string): string {
  return withoutMentions(text.replace(/\s+/g, ' ').trim());
}

/** A path of our own pages would lead to nothing in somebody else's repository. */
function linked({ title, value }: Fact, documentation: string | undefined): Fact {
  return { title, value: title === 'Runbook' && documentation ? `${documentation}${value}` : value };
}

function checksTable(checks: readonly CheckResult[]): string[] {
  const rows = checks.map(
    ({ name, value, detail = '', ...bounds }) =>
      `| ${escapedMarkdown(name)} | ${value ?? ''} | ${boundsOf(bounds)} | ${escapedMarkdown(detail)} |`,
  );
  return rows.length > 0 ? ['', '| check | value | bound | detail |', '|---|---|---|---|', ...rows] : [];
}

function checksList(checks: readonly CheckResult[]): string[] {
  const rows = checks.map(({ name, value, detail = '', ...bounds }) => {
    const words = [`Check ${name}: ${value ?? 'no value'}`, boundsOf(bounds), detail];
    return plain(words.filter(Boolean).join(', '));
  });
  return rows.length > 0 ? ['', ...rows] : [];
}

function boundsOf({ min, max }: Pick<CheckResult, 'min' | 'max'>): string {
  const words = [min === undefined ? '' : `min ${min}`, max === undefined ? '' : `max ${max}`];
  return words.filter(Boolean).join(', ');
}
