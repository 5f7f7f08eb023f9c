import {
  counted,
  formatSpan,
  paint,
  printable,
  type Screen,
  type Tone,
  wrap,
} from '../../terminal/output.ts';
import type { FlightMetric, FlightPlan, FlightStep } from './flight-plan.ts';
import type {
  CanaryPlanned,
  DryRunFinding,
  Measured,
  ObjectChange,
  PlanReport,
  PlanSide,
  PlanSummary,
  SourcePlanned,
} from './report.ts';

/** A plan for people at a terminal; ends with a line feed. Pure. */
export function planText(report: PlanReport, screen: Screen): string {
  const { base, head, summary, sources, notes } = report;
  const lines = [
    paint(screen, 'strong', printable(`From ${sideWords(base)} to ${sideWords(head)}`)),
    ...wrap(isEmpty(report) ? 'nothing changes' : summaryWords(summary), screen.columns, ''),
    ...notes.flatMap((note) => wrap(`note: ${note}`, screen.columns, '')),
    ...sources.flatMap((source) => sourceLines(source, screen)),
  ];
  return `${lines.join('\n')}\n`;
}

const severities = { oneWay: 'one-way', refused: 'refused', note: 'note' } as const;
const tones: Readonly<Record<string, Tone>> = { oneWay: 'bad', refused: 'bad', note: 'quiet' };

function sourceLines(source: SourcePlanned, screen: Screen): string[] {
  const { columns } = screen;
  const changed = source.change === 'same' ? '' : `, the Source itself is ${source.change}`;
  const body = [
    ...source.problems.map((problem) => paint(screen, 'bad', `  ${printable(problem)}`)),
    ...source.oneWay.flatMap(({ severity, object, origin, message }) =>
      wrap(`${severities[severity]}: ${object} (${origin}): ${message}`, columns, '  ').map((line) =>
        paint(screen, tones[severity] ?? 'none', line),
      ),
    ),
    ...source.canaries.flatMap((canary) => [
      ...wrap(`Canary ${canary.canary}: ${canary.summary}`, columns, '  ').map((line) =>
        paint(screen, 'strong', line),
      ),
      ...canaryWords(canary).flatMap((line) => hanging(line, columns)),
    ]),
    ...(source.dryRun ?? []).flatMap((finding) => hanging(`dry run: ${dryRunWords(finding)}`, columns)),
    ...source.objects.flatMap((object) => objectLines(object, screen)),
    ...source.notes.flatMap((note) => wrap(`note: ${note}`, columns, '  ')),
  ];
  if (body.length === 0) return [];
  return [
    '',
    paint(screen, 'strong', printable(`Source ${source.source} (${source.path})${changed}`)),
    ...body,
  ];
}

function hanging(text: string, columns: number): string[] {
  return wrap(text, columns, '      ').map((line, index) =>
    index === 0 ? line.replace('      ', '    - ') : line,
  );
}

function objectLines(object: ObjectChange, screen: Screen): string[] {
  return [
    paint(screen, 'strong', `  ${printable(objectWords(object))}`),
    ...object.diff.map((line) => paint(screen, toneOf(line), `    ${printable(line)}`)),
  ];
}

function toneOf(line: string): Tone {
  if (line.startsWith('+')) return 'good';
  return line.startsWith('-') ? 'bad' : 'quiet';
}

// A plan in sentences, the same for terminals and for Markdown. What comes from outside may hold anything: who prints it escapes it. Pure.

/** `main (1a2b3c4 "Pay faster")`. */
export function sideWords({ revision, commit }: PlanSide): string {
  if (!commit) return 'the working tree';
  const id = commit.commit.slice(0, 7);
  const subject = commit.subject ? ` ${JSON.stringify(commit.subject)}` : '';
  return revision === commit.commit || revision === id ? `${id}${subject}` : `${revision} (${id}${subject})`;
}

/** `3 added, 1 removed; 2 rollouts; 1 one-way change`. */
export function summaryWords(summary: PlanSummary): string {
  const { added, changed, removed, rollouts, oneWay, refused, problems } = summary;
  const objects = [
    [added, 'added'],
    [changed, 'changed'],
    [removed, 'removed'],
  ] as const;
  const parts = objects.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return [
    parts.length > 0 ? `objects: ${parts.join(', ')}` : 'no object changes',
    ...(rollouts > 0 ? [counted(rollouts, 'rollout')] : []),
    ...(oneWay > 0 ? [counted(oneWay, 'one-way change')] : []),
    ...(refused > 0 ? [`${counted(refused, 'change')} that the API server rejects`] : []),
    ...(problems > 0 ? [counted(problems, 'problem')] : []),
  ].join('; ');
}

/** True when there is nothing to look at. */
export function isEmpty({ summary, sources }: PlanReport): boolean {
  const { added, changed, removed, problems } = summary;
  return added + changed + removed + problems === 0 && sources.every(({ canaries }) => canaries.length === 0);
}

/** `changed Deployment shop/web (target of shop/web), apps/web.yaml:1`. */
export function objectWords(object: ObjectChange): string {
  const { change, kind, namespace, name, role, canaries, origin } = object;
  const what = `${kind} ${namespace ? `${namespace}/` : ''}${name}`;
  const of = role === 'other' || role === 'canary' ? '' : ` (${role} of ${canaries.join(', ')})`;
  return `${change} ${what}${of}, ${origin}${fateWords(object)}`;
}

const fates: Readonly<Record<NonNullable<ObjectChange['fate']>, string>> = {
  pruned: 'it is deleted',
  handedBack: 'it is deleted once its target serves again',
  waitsForApproval: 'it is deleted once a person approves the commit',
  stays: 'it stays in the cluster',
};

function fateWords({ fate, fateReason }: ObjectChange): string {
  if (!fate) return '';
  return `: ${fates[fate]}${fateReason ? ` (${fateReason})` : ''}`;
}

/** What a Canary's plan says, a line for each thing. */
export function canaryWords({ flight, measured, revert, standing }: CanaryPlanned): string[] {
  return [
    ...(flight ? flightWords(flight) : []),
    ...(flight?.metrics ?? []).map((metric) => metricWords(metric, measured)),
    ...(flight?.holds ?? []).map(({ kind, name, effect }) => `${kind} ${name}: ${effect}`),
    ...(revert
      ? [
          `revert: ${{ yes: 'possible', no: 'not possible', unknown: 'as far as known' }[revert.possible]}; ${revert.why}`,
        ]
      : []),
    ...(standing?.deviation ? [standing.deviation] : []),
  ];
}

function flightWords(flight: FlightPlan): string[] {
  const { analysisMs, promotionMs, verificationMs, shortestMs, intervalMs, threshold } = flight;
  const parts = [
    [analysisMs, 'analysis'],
    [promotionMs, 'moving the traffic back'],
    [verificationMs, 'verification'],
  ] as const;
  const spans = parts.filter(([ms]) => ms > 0).map(([ms, word]) => `${word} ${formatSpan(ms)}`);
  const sum = spans.length > 0 ? ` (${spans.join(', ')})` : '';
  const steps = flight.isAnalysed
    ? [
        `${flight.strategy} by ${flight.provider}: ${stepWords(flight.steps)}, a check every ${formatSpan(intervalMs)}, stops after ${counted(threshold, 'failed check')}`,
      ]
    : [`no analysis, by ${flight.provider}`];
  return [
    ...steps,
    ...(flight.isStuck ? ['no step of spec.analysis goes beyond this weight: change stepWeight'] : []),
    `takes at least ${formatSpan(shortestMs)}${sum}, plus the time until pods are ready`,
  ];
}

const mostSteps = 12;

function stepWords(steps: readonly FlightStep[]): string {
  const [first] = steps;
  if (!first) return 'no step';
  if (first.iteration === undefined) {
    const shown = steps.slice(0, mostSteps).map(({ weight }) => `${weight} %`);
    const more = steps.length > mostSteps ? `, ... ${steps.at(-1)?.weight} %` : '';
    return shown.join(', ') + more;
  }
  const phases = [
    [steps.filter(({ mirrored }) => mirrored).length, 'with mirrored traffic'],
    [steps.filter(({ weight, mirrored }) => weight === 0 && !mirrored).length, 'without traffic'],
    [steps.filter(({ weight }) => weight > 0).length, 'with traffic'],
  ] as const;
  return phases
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${counted(count, 'check')} ${word}`)
    .join(', ');
}

function metricWords(metric: FlightMetric, measured: readonly Measured[] | undefined): string {
  const { name, when, min, max, maxRelativeIncrease, window } = metric;
  const bounds = [
    ...(min === undefined ? [] : [`at least ${min}`]),
    ...(max === undefined ? [] : [`at most ${max}`]),
    ...(maxRelativeIncrease === undefined ? [] : [`at most ${maxRelativeIncrease} % above the primary`]),
  ];
  const now = measured?.find((one) => one.name === name && one.when === when);
  const during = when === 'analysis' ? 'during analysis' : 'after promotion';
  return `metric ${during}: ${name} ${bounds.join(' and ') || 'without bounds'}, over ${window}${nowWords(now)}`;
}

function nowWords(now: Measured | undefined): string {
  if (!now) return '';
  if (now.value === undefined) return `; now unknown: ${now.detail ?? 'no value'}`;
  const verdict = now.verdict === 'fail' ? ', which would fail' : '';
  return `; now ${Number(now.value.toPrecision(6))} on the primary${verdict}`;
}

/** `refused Deployment shop/web: ...`. */
export function dryRunWords({ object, state, fields, message }: DryRunFinding): string {
  const words = { differs: 'the cluster differs', missing: 'not there yet', refused: 'refused' }[state];
  return `${object}: ${[words, message, fields.slice(0, 10).join('; ')].filter(Boolean).join(': ')}`;
}
