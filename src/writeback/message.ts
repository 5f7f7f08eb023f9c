import type { CanaryStatus, CheckResult } from '../api/canary/status.ts';
import { escapedMarkdown, factsOf, type Incident, markdownOf, withoutMentions } from '../api/incident.ts';
import { commandOn, nameOfKey } from '../api/kubernetes.ts';
import type { WantedRevert } from './decide.ts';
import type { CanaryInCluster } from './names.ts';

/** What the messages of a revert in Git are built from. */
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
  /** Set when whole commits are taken back: which, the newest first, why, and which other objects change with them. */
  readonly whole?: WholeCommits | undefined;
}

interface WholeCommits {
  readonly commits: readonly string[];
  readonly why: string;
  readonly others: readonly string[];
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

/** Body of the pull request, as Markdown, or of the commit, as text: the incident as it was reported, and what this revert does. */
export function revertBody(description: RevertDescription, format: MessageFormat): string {
  const { where, revert, evidence, files, whole, documentation } = description;
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
    ...(whole
      ? wholeLines(whole, format)
      : [
          'Only the lines of this workload are reverted; all other changes of this commit and of later commits stay.',
          'The result was rendered: the release is byte for byte the last-known-good, and no other object changes.',
        ]),
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

function wholeLines({ commits, why, others }: WholeCommits, format: MessageFormat): string[] {
  const shown = format === 'markdown' ? escapedMarkdown : plain;
  // Names are as in Git: nobody has looked at them before a person reads this.
  const concerned = others.length > 0 ? others.map((name) => `- ${shown(name)}`) : ['- no other object'];
  const because = shown(why);
  const mark = format === 'markdown' ? '**' : '';
  const ids = commits.map((commit) => commit.slice(0, 7)).join(', ');
  const what = commits.length === 1 ? 'the whole commit' : `${commits.length} whole commits (${ids})`;
  return [
    `${mark}This reverts ${what}${mark}, because ${because}. Please check before merging; this also changes:`,
    '',
    ...concerned,
  ];
}

/** The comment on a pull request that is closed because head has another release, or because its own is good by now. */
export function closedComment(head: string, isGood: boolean): string {
  const why = isGood
    ? 'this release was tried again and is good now'
    : `${head.slice(0, 7)} has another release`;
  return `Closed: ${why}, so there is nothing left to revert.`;
}

/** The comment on the pull request when another commit brings the rejected release back. `canaryKey`: namespace/name. */
export function bumpComment(commit: string, digest: string, canaryKey: string): string {
  return `${commit} has the same release again (${digest.slice(0, 15)}). It stays rejected and is not rolled out; to try it anyway, run: ${commandOn('retry', nameOfKey(canaryKey))}`;
}

/** Pull requests are Markdown; commit messages are read as they are. */
type MessageFormat = 'markdown' | 'text';

/** Why a release was reverted. */
interface Evidence {
  /** The incident that was reported; undefined when it is no longer among the stored ones. */
  readonly incident: Incident | undefined;
  /** Checks that did not pass. */
  readonly failed: readonly CheckResult[];
}

/** What a Canary's status says about a release that was reverted. */
export function evidenceFor(status: CanaryStatus, digest: string): Evidence {
  const isIt = ({ key, outcome }: Incident) => outcome === 'Reverted' && key.startsWith(`${digest}/`);
  return {
    incident: status.incidents?.find(isIt),
    failed: (status.checks ?? []).filter(({ verdict }) => verdict === 'fail'),
  };
}

/** Facts of the incident that the message replaces: this revert is the command, and it says what comes next. */
const ownFacts: ReadonlySet<string> = new Set(['You can run', 'Next']);

/** The incident as in the alerts, with what this revert changes. `documentation` is the root of the pages that runbooks are linked to. */
function evidenceText(
  { incident, failed }: Evidence,
  { revert, next }: { readonly revert: WantedRevert; readonly next: string },
  { format, documentation }: { readonly format: MessageFormat; readonly documentation: string | undefined },
): string {
  const isMarkdown = format === 'markdown';
  const checks = checkLines(failed, format);
  if (!incident) {
    const finding = isMarkdown ? escapedMarkdown(revert.finding) : plain(revert.finding);
    return [finding, ...checks].join('\n').trim();
  }
  const facts = factsOf(incident, documentation).filter(({ title }) => !ownFacts.has(title));
  facts.push({ title: 'Next', value: next });
  if (isMarkdown) return [markdownOf(incident, facts), ...checks].join('\n');
  const lines = facts.map(({ title, value }) => `${title}: ${plain(value)}`);
  return [plain(incident.message), '', ...lines, ...checks].join('\n');
}

/** On one line and without mentions, so that a finding can neither look like a line of the message nor notify anybody. */
function plain(text: string): string {
  return withoutMentions(text.replace(/\s+/g, ' ').trim());
}

/** A Markdown table, or one line per check. */
function checkLines(checks: readonly CheckResult[], format: MessageFormat): string[] {
  if (checks.length === 0) return [];
  if (format === 'text')
    return [
      '',
      ...checks.map(({ name, value, detail = '', ...bounds }) =>
        plain([`Check ${name}: ${value ?? 'no value'}`, boundsOf(bounds), detail].filter(Boolean).join(', ')),
      ),
    ];
  const rows = checks.map(
    ({ name, value, detail = '', ...bounds }) =>
      `| ${escapedMarkdown(name)} | ${value ?? ''} | ${boundsOf(bounds)} | ${escapedMarkdown(detail)} |`,
  );
  return ['', '| check | value | bound | detail |', '|---|---|---|---|', ...rows];
}

function boundsOf({ min, max }: Pick<CheckResult, 'min' | 'max'>): string {
  const bounds = [min === undefined ? '' : `min ${min}`, max === undefined ? '' : `max ${max}`];
  return bounds.filter(Boolean).join(', ');
}
