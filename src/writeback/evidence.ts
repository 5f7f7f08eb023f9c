import type { CanaryStatus, CheckResult } from '../api/canary-status.ts';
import type { Incident } from '../api/incident.ts';
import { escapedMarkdown, type Fact, factsOf, markdownOf, withoutMentions } from '../api/incident-text.ts';
import type { WantedRevert } from './decide.ts';

/** Pull requests are Markdown; commit messages are read as they are. */
export type MessageFormat = 'markdown' | 'text';

/** Why a release was reverted. */
export interface Evidence {
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
export function evidenceText(
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
