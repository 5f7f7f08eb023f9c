/** What is reported of a release at the moments that matter: one value for status line, event, alert, commit status and pull request. */
import * as z from 'zod';
import { nothing, rolloutReasons } from './reasons.ts';
import { text, timestamp } from './schema.ts';
import { shorten } from './text.ts';

/** How much it matters: info is good news, warn asks for a look, error says that a release went wrong. */
const severitySchema = z.enum(['info', 'warn', 'error']);

/** Where the release stands. */
const incidentOutcomeSchema = z.enum([
  'Initialized',
  'Started',
  'Succeeded',
  'Waiting',
  'Stopped',
  'Held',
  'Failed',
  'Reverted',
]);

/** One alert of analysis.alerts and what came of it. */
const alertStateSchema = z.object({
  name: text(253).describe('Name of the alert in analysis.alerts.'),
  state: z.enum(['waiting', 'sent', 'failed']).describe('waiting, sent or failed.'),
  detail: text(256).describe('Why it could not be sent.').optional(),
});

const answering = z.object({
  workload: text(253).describe('Name of the workload.'),
  commit: text(64).describe('Commit that it runs, in full.'),
  subject: text(160).describe("First line of that commit's message.").optional(),
  weight: z.int().min(0).max(100).describe('Share of the traffic in percent, as read from the route.'),
  ready: z.int().min(0).describe('Pods that are ready.'),
});

/** One report; made when the state is entered, and kept as it was. */
export const incidentSchema = z.object({
  key: text(253).describe(
    'Identifies this report: release, outcome and reason. Nothing is reported twice under one key.',
  ),
  time: timestamp().describe('When the state was entered.'),
  outcome: incidentOutcomeSchema.describe('Where the release stands.'),
  severity: severitySchema.describe('info, warn or error.'),
  reason: text(64).describe('Why, as in the table of reasons.'),
  message: text(512).describe('What happened, in one sentence.'),
  commit: text(64).describe('Commit it is about, in full; empty when it came from no Source.'),
  author: text(160).describe('Who wrote that commit.').optional(),
  subject: text(160).describe("First line of that commit's message.").optional(),
  finding: text(512).describe('The finding with its value and bound.').optional(),
  onCanary: text(512).describe('Whether the canary showed the same.').optional(),
  stays: text(512).describe('What remains applied of the commit.').optional(),
  serving: z
    .array(answering)
    .max(4)
    .describe('Who answered requests then, largest share first; absent in reports about a Source.')
    .optional(),
  next: z
    .object({
      action: text(160).describe('What happens next.'),
      time: timestamp().describe('When.').optional(),
    })
    .describe('What happens next automatically; absent: nothing.')
    .optional(),
  command: text(512).describe('One command that a person can run.').optional(),
  alerts: z.array(alertStateSchema).max(32).describe('What came of each alert.').optional(),
});

export type Severity = z.infer<typeof severitySchema>;
export type IncidentOutcome = z.infer<typeof incidentOutcomeSchema>;
export type AlertState = z.infer<typeof alertStateSchema>;
export type Incident = z.infer<typeof incidentSchema>;

/** Limits in characters of the renderings. */
const LINE_CHARACTERS = 160;
const EVENT_CHARACTERS = 1000;

/** One fact under its title, for receivers that show a table. */
export interface Fact {
  readonly title: string;
  readonly value: string;
}

/** Path of a reason's page below the root of the project; undefined for a reason that asks nothing of anybody. */
export function runbookOf(reason: string): string | undefined {
  return actOf(reason) === undefined ? undefined : `docs/runbooks/${reason}.md`;
}

/** Takes a commit back in Git; undefined for what is no full SHA, since somebody pastes it into a shell. */
export function revertCommand(commit: string): string | undefined {
  return /^[0-9a-f]{40,64}$/.test(commit)
    ? `git revert --no-edit ${commit.slice(0, 12)} && git push`
    : undefined;
}

/** What happened and what a person can do, for status message and commit status: at most 160 characters, or fewer. */
export function lineOf(incident: Incident, maxCharacters = LINE_CHARACTERS): string {
  const act = actOf(incident.reason);
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

/** Text in which `@all` or `<!channel>` from a commit message calls nobody: a joiner of no width follows each @. */
export function withoutMentions(text: string): string {
  return text.replaceAll('@', '@\u2060');
}

/**
 * Backslashes before everything that Markdown or its HTML could take for markup; line breaks become spaces. Forges look for @names and
 * #numbers after that, so these are broken by a joiner of no width.
 */
export function escapedMarkdown(text: string): string {
  const marked = text.replace(/\s*\n\s*/g, ' ').replace(/[\\`*_[\]<>|~]/g, (mark) => `\\${mark}`);
  return withoutMentions(marked).replaceAll('#', '#\u2060');
}

/**
 * The facts in the order in which a person asks for them; absent ones are left out. `documentation`: root of the pages that the runbook is
 * linked to, with a slash at the end.
 */
export function factsOf(incident: Incident, documentation = ''): Fact[] {
  const { commit, author, subject, finding, onCanary, stays, command, severity } = incident;
  const runbook = runbookOf(incident.reason);
  const facts: Array<[title: string, value: string | undefined]> = [
    ['Serving', servingText(incident)],
    ['Commit', commitText(commit, subject, author)],
    ['Finding', finding],
    ['Canary', onCanary],
    ['Stays applied', stays],
    ['Next', nextText(incident)],
    ['You can run', command],
    ['Runbook', runbook && severity !== 'info' ? `${documentation}${runbook}` : undefined],
  ];
  return facts.flatMap(([title, value]) => (value ? [{ title, value }] : []));
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

function nextText({ next, severity }: Incident): string | undefined {
  if (!next) return severity === 'info' ? undefined : 'nothing automatic';
  return next.time ? `${next.action} at ${next.time}` : next.action;
}

function actOf(reason: string): string | undefined {
  if (!Object.hasOwn(rolloutReasons, reason)) return undefined;
  const { act } = rolloutReasons[reason as keyof typeof rolloutReasons];
  return act === nothing ? undefined : act;
}

function valueInMarkdown(title: string, value: string): string {
  if (title === 'You can run') return `\`${value.replaceAll('`', '')}\``;
  if (title === 'Runbook' && URL.canParse(value)) return `[${value}](${value})`;
  return escapedMarkdown(value);
}
