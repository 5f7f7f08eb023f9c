/** A report about a release: one value, shown in the status line, event, alert, commit status and pull request. */
import type { CanaryStatus } from './canary/status.ts';
import { isCommit } from './commit.ts';
import { shorten } from './limits.ts';
import { actOn, rowOf } from './reasons.ts';

/** One report of `status.incidents`; created when the state is entered, and not changed later. */
export type Incident = NonNullable<CanaryStatus['incidents']>[number];
export type Severity = Incident['severity'];
export type IncidentOutcome = Incident['outcome'];
export type AlertState = NonNullable<Incident['alerts']>[number];

/** Limits in characters of the renderings. */
const LINE_CHARACTERS = 160;
const EVENT_CHARACTERS = 1000;

/** Whether alerts about what went before are over with it. */
export function endsAlerts({ severity, outcome }: Pick<Incident, 'severity' | 'outcome'>): boolean {
  return severity === 'info' && (outcome === 'Succeeded' || outcome === 'Initialized');
}

/** Names of alerts that were told of something bad, and of no end since, as far as reports are kept. */
export function openAlerts({ incidents = [] }: CanaryStatus): string[] {
  const end = incidents.findIndex(endsAlerts);
  const since = end < 0 ? incidents : incidents.slice(0, end);
  const told = since.flatMap(({ severity, alerts = [] }) =>
    severity === 'info' ? [] : alerts.map(({ name }) => name),
  );
  return [...new Set(told)];
}

/** One fact under its title, for receivers that show a table. */
export interface Fact {
  readonly title: string;
  readonly value: string;
}

/**
 * Where a reason's runbook is: its address below the root of the documentation (with a slash at the end), else the command that shows it,
 * which works anywhere. Undefined for a reason that needs no action.
 */
export function runbookOf(reason: string, documentation = ''): string | undefined {
  if (actOn(reason) === undefined) return undefined;
  return documentation ? `${documentation}docs/runbooks/${reason}.md` : `holdfast runbook ${reason}`;
}

/**
 * The command that reverts a commit in Git; undefined unless it is a full SHA, since people paste the command into a shell. Of a merge, Git
 * asks which of its parents stays.
 */
export function revertCommand(commit: string, isMerge = false): string | undefined {
  return isCommit(commit)
    ? `git revert --no-edit ${isMerge ? '-m 1 ' : ''}${commit.slice(0, 12)} && git push`
    : undefined;
}

/** Whether one of these reports was about this commit as a merge: the status keeps no more of it. */
export function isToldAsMerge(commit: string, incidents: readonly Pick<Incident, 'command'>[] = []): boolean {
  const command = revertCommand(commit, true);
  return command !== undefined && incidents.some((incident) => incident.command === command);
}

/** What happened and what a person can do, for status message and commit status: at most 160 characters, or fewer. */
export function lineOf(incident: Incident, maxCharacters = LINE_CHARACTERS): string {
  const act = actOn(incident.reason, incident.outcome === 'Held');
  const whole = act ? `${incident.message}; ${act}` : incident.message;
  return shorten(whole.length <= maxCharacters ? whole : incident.message, maxCharacters);
}

/** Everything in one paragraph, for a Kubernetes Event and the log: at most 1,000 characters. */
export function eventTextOf(incident: Incident): string {
  const rest = factsOf(incident).map(({ title, value }) => `${title}: ${value}`);
  return shorten([incident.message, ...rest].join('. '), EVENT_CHARACTERS);
}

/** Everything as plain text, one fact a line. */
export function plainTextOf(incident: Incident): string {
  const facts = factsOf(incident).map(({ title, value }) => `${title}: ${value}`);
  return [incident.message, '', ...facts].join('\n');
}

/** Everything as Markdown; text that came from a commit or a provider cannot form markup. `facts` takes the place of the incident's own. */
export function markdownOf(incident: Incident, facts: readonly Fact[] = factsOf(incident)): string {
  const lines = facts.map(({ title, value }) => `- **${title}:** ${valueInMarkdown(title, value)}`);
  return [escapedMarkdown(incident.message), '', ...lines].join('\n');
}

/** Text in which `@all` or `<!channel>` from a commit message sends no notification: a word joiner (U+2060) follows each @. */
export function withoutMentions(text: string): string {
  return text.replaceAll('@', '@\u2060');
}

/**
 * Backslashes before everything that Markdown or its HTML could take for markup, and no entity, which would hide a sign; white space is one space. Forges look for @names and
 * #numbers after that, so a word joiner (U+2060) follows each @ and #.
 */
export function escapedMarkdown(text: string): string {
  const marked = text
    .replace(/\s+/g, ' ')
    .replaceAll('&', '&amp;')
    .replace(/[\\`*_[\]<>|~]/g, (mark) => `\\${mark}`);
  return withoutMentions(marked).replaceAll('#', '#\u2060');
}

/**
 * The facts in the order in which a person asks for them; absent ones are left out. `documentation`: root of the pages that the runbook is
 * linked to, with a slash at the end.
 */
export function factsOf(incident: Incident, documentation = ''): Fact[] {
  const { commit, author, subject, finding, onCanary, stays, next, command, severity } = incident;
  const runbook = runbookOf(incident.reason, documentation);
  const facts: Array<[title: string, value: string | undefined]> = [
    ['Serving', servingText(incident)],
    ['Commit', commitText(commit, subject, author)],
    ['Finding', finding === incident.message ? undefined : finding],
    ['Canary', onCanary],
    ['Stays applied', stays],
    ['Next', next?.time ? `${next.action} at ${next.time}` : (next?.action ?? nextByReason(incident))],
    ['You can run', command],
    ['Runbook', severity !== 'info' ? runbook : undefined],
  ];
  return facts.flatMap(([title, value]) => (value ? [{ title, value }] : []));
}

/** A release that waits for a person goes on by itself once what its reason names is there. */
function nextByReason({ outcome, reason, severity }: Incident): string | undefined {
  if (severity === 'info') return undefined;
  const row = outcome === 'Stopped' ? rowOf(reason) : undefined;
  const [next = ''] = row?.next.split(';') ?? [];
  return ['', 'nothing'].includes(next) ? 'nothing automatic' : next;
}

function servingText({ serving }: Incident): string | undefined {
  if (!serving) return undefined;
  if (serving.length === 0) return 'the traffic is unknown';
  return serving
    .map(({ workload, weight, ready, commit, subject }) => {
      const release = commitText(commit, subject, undefined) ?? 'a release without a Source';
      return `${workload} with ${release}, ${weight} %, ${ready} ${ready === 1 ? 'pod' : 'pods'} ready`;
    })
    .join('; ');
}

function commitText(
  commit: string,
  subject: string | undefined,
  author: string | undefined,
): string | undefined {
  if (!commit) return undefined;
  const named = subject ? `${commit.slice(0, 7)} "${subject}"` : commit.slice(0, 7);
  return author ? `${named} by ${author}` : named;
}

function valueInMarkdown(title: string, value: string): string {
  if (title === 'You can run' || (title === 'Runbook' && !URL.canParse(value)))
    return `\`${value.replaceAll('`', '')}\``;
  if (title === 'Runbook') return `[${value}](${value})`;
  return escapedMarkdown(value);
}
