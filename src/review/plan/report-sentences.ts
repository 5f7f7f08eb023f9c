/**
 * A plan in sentences, the same for terminals and for Markdown. Names and messages may hold any character: who prints them escapes them. Pure.
 */
import { counted, formatSpan } from '../../terminal/output.ts';
import type { FlightMetric, FlightPlan, FlightStep } from './flight-plan.ts';
import type {
  CanaryPlanned,
  DryRunFinding,
  Measured,
  ObjectChange,
  PlanReport,
  PlanSide,
  SourcePlanned,
} from './report.ts';

/** `main (1a2b3c4 "Pay faster")`. */
export function sideWords({ revision, commit }: PlanSide): string {
  if (!commit) return 'the working tree';
  const id = commit.commit.slice(0, 7);
  const subject = commit.subject ? ` ${JSON.stringify(commit.subject)}` : '';
  return revision === commit.commit || revision === id ? `${id}${subject}` : `${revision} (${id}${subject})`;
}

/** `3 added, 1 removed; 2 rollouts; 1 one-way change`, or `nothing changes`. */
export function summaryWords(report: PlanReport): string {
  return hasChanges(report) ? countedWords(report) : 'nothing changes';
}

function countedWords({ summary, sources }: PlanReport): string {
  const { added, changed, removed, rollouts, oneWay, refused, problems } = summary;
  const changedSources = sources.filter(({ change }) => change !== 'same').length;
  const objects = [
    [added, 'added'],
    [changed, 'changed'],
    [removed, 'removed'],
  ] as const;
  const parts = objects.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return [
    parts.length > 0 ? `objects: ${parts.join(', ')}` : 'no object changes',
    ...(changedSources > 0 ? [`${counted(changedSources, 'Source')} changed`] : []),
    ...(rollouts > 0 ? [counted(rollouts, 'rollout')] : []),
    ...(oneWay > 0 ? [counted(oneWay, 'one-way change')] : []),
    ...(refused > 0 ? [`${counted(refused, 'change')} that the API server rejects`] : []),
    ...(problems > 0 ? [counted(problems, 'problem')] : []),
  ].join('; ');
}

/** Whether the change does anything, or something keeps that from being known. What already differs between base and the cluster does not count. */
export function hasChanges({ summary, sources }: PlanReport): boolean {
  const { added, changed, removed, problems } = summary;
  return added + changed + removed + problems > 0 || sources.some(({ change }) => change !== 'same');
}

/** `, the Source itself is changed`; nothing where it stays the same. */
export function sourceChangeWords({ change }: SourcePlanned): string {
  return change === 'same' ? '' : `, the Source itself is ${change}`;
}

/** `changed Deployment shop/web (target of shop/web), apps/web.yaml:1`. */
export function objectWords(object: ObjectChange): string {
  const { change, kind, namespace, name, role, canaries, origin, fate, fateReason } = object;
  const what = `${kind} ${namespace ? `${namespace}/` : ''}${name}`;
  const of = role === 'other' || role === 'canary' ? '' : ` (${role} of ${canaries.join(', ')})`;
  const after = fate ? `: ${fates[fate]}${fateReason ? ` (${fateReason})` : ''}` : '';
  return `${change} ${what}${of}, ${origin}${after}`;
}

const fates: Readonly<Record<NonNullable<ObjectChange['fate']>, string>> = {
  pruned: 'it is deleted',
  handedBack: 'it is deleted once its target serves again',
  waitsForApproval: 'it is deleted once a person approves the commit',
  stays: 'it stays in the cluster',
};

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
  const { name, when, min, max, maxRelativeIncrease, confidencePercent, window } = metric;
  const bounds = [
    ...(min === undefined ? [] : [`at least ${min}`]),
    ...(max === undefined ? [] : [`at most ${max}`]),
    ...(maxRelativeIncrease === undefined ? [] : [`at most ${maxRelativeIncrease} % above the primary`]),
    ...(confidencePercent === undefined
      ? []
      : [`no different from the primary at ${confidencePercent} % confidence`]),
  ];
  const now = measured?.find((one) => one.name === name && one.when === when);
  const during = when === 'analysis' ? 'during analysis' : 'after promotion';
  const sentence = `metric ${during}: ${name} ${bounds.join(' and ') || 'without bounds'}, over ${window}`;
  if (!now) return sentence;
  if (now.value === undefined) return `${sentence}; now unknown: ${now.detail ?? 'no value'}`;
  const verdict = now.verdict === 'fail' ? ', which would fail' : '';
  return `${sentence}; now ${Number(now.value.toPrecision(6))} on the primary${verdict}`;
}

/** `refused Deployment shop/web: ...`. */
export function dryRunWords({ object, state, fields, message }: DryRunFinding): string {
  const words = { differs: 'the cluster differs', missing: 'not there yet', refused: 'refused' }[state];
  return `${object}: ${[words, message, fields.slice(0, 10).join('; ')].filter(Boolean).join(': ')}`;
}
