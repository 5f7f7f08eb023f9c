import type { CanaryMetric, HookType } from '../api/canary/analysis.ts';
import { type Canary, hooksOf, metricsById } from '../api/canary/canary.ts';
import type { CheckResult } from '../api/canary/status.ts';
import { shorten } from '../api/limits.ts';
import type { CheckOutcome, HookAnswer, MetricReading } from '../api/observed.ts';
import { stamp } from '../api/time.ts';
import type { Comparison } from './comparison.ts';

/** The longest name and detail that a status holds, in characters: the API server refuses the whole status for a longer one. */
const MAX_NAME_CHARACTERS = 253;
const MAX_DETAIL_CHARACTERS = 512;

/**
 * Comparisons as results of a check after promotion: every count with its bound, and every difference. Differences that are only reported
 * pass, with their detail.
 */
export function checkResults(comparisons: readonly Comparison[], time: string): CheckResult[] {
  return comparisons
    .filter(({ met, value }) => !met || value !== undefined)
    .map(({ name, met, severity, detail, value, min, max }) => ({
      name,
      ...(value === undefined ? {} : { value }),
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
      verdict: met || severity === 'tells' ? ('pass' as const) : ('fail' as const),
      ...(detail === undefined ? {} : { detail: shorten(detail, MAX_DETAIL_CHARACTERS) }),
      time,
    }));
}

/** The verdict of a check as a whole. `unknown` never fails a release after promotion (S29). */
type Verdict = 'pass' | 'fail' | 'unknown';

const SUCCESS_RATE = 'request-success-rate';

/**
 * Judges the readings of a check. Readings and results name metrics by their id in the list (`metricsById`). During analysis an answer
 * without a value is a failed check unless `onNoData` says otherwise, as in Flagger; after promotion it is inconclusive.
 */
export function judge(
  metrics: readonly CanaryMetric[],
  outcome: CheckOutcome,
  purpose: 'analysis' | 'postPromotion',
): CheckResult[] {
  const readings = new Map(outcome.readings.map(({ name, reading }) => [name, reading]));
  return [...metricsById(metrics)].map(([id, metric]) => {
    const reading = readings.get(id) ?? { kind: 'error', detail: 'the metric was not queried' };
    const name = shorten(id, MAX_NAME_CHARACTERS);
    return { name, ...judgeOne(metric, reading, purpose), time: stamp(outcome.atMs) };
  });
}

/** The worst result decides: a failure, then an inconclusive result, then a pass. */
export function verdictOf(results: readonly CheckResult[]): Verdict {
  if (results.some((result) => result.verdict === 'fail')) return 'fail';
  return results.some((result) => result.verdict === 'inconclusive') ? 'unknown' : 'pass';
}

/** Results that did not pass, in one line: `error-rate 93.1 < 99, latency: no value`. */
export function findings(results: readonly CheckResult[]): string {
  return results
    .filter(({ verdict }) => verdict !== 'pass')
    .map(finding)
    .join(', ');
}

/** `name 93.1 < 99`: one finding with its bound, for messages and events. */
export function finding({ name, value, min, max, verdict, detail }: CheckResult): string {
  if (value === undefined) return `${name}: ${detail ?? 'no value'}`;
  const why = verdict === 'fail' && detail ? ` (${detail})` : '';
  if (min !== undefined && value < min) return `${name} ${apart(value, min)[0]} < ${min}${why}`;
  if (max !== undefined && value > max) return `${name} ${apart(value, max).join(' > ')}${why}`;
  return `${name} ${round(value)}${why}`;
}

/** Both with as many digits as tell them apart. */
function apart(value: number, bound: number): [value: number, bound: number] {
  let digits = fewestDigits;
  while (round(value, digits) === round(bound, digits)) digits += 1;
  return [round(value, digits), round(bound, digits)];
}

type Judged = Omit<CheckResult, 'time' | 'name'>;

function judgeOne(
  metric: CanaryMetric,
  reading: MetricReading,
  purpose: 'analysis' | 'postPromotion',
): Judged {
  const own = boundsOf(metric);
  if (reading.kind !== 'value' || !Number.isFinite(reading.value)) {
    const words = reading.kind === 'value' ? 'the value is not a finite number' : reading.detail;
    const detail = shorten(words, MAX_DETAIL_CHARACTERS);
    return { ...own, detail, verdict: verdictWithoutValue(metric, reading, purpose) };
  }
  const { value, baseline, baselineOf = 'primary', p } = reading;
  const said = reading.detail === undefined ? {} : { detail: shorten(reading.detail, MAX_DETAIL_CHARACTERS) };
  if (baseline === undefined)
    return { value, ...own, ...said, verdict: isInside(value, own) ? 'pass' : 'fail' };
  const relative = baseline + (Math.abs(baseline) * (metric.maxRelativeIncrease ?? 0)) / 100;
  if (p !== undefined) {
    const passes = isInside(value, own) && !differs(metric, p, value > relative);
    return { value, ...own, ...said, verdict: passes ? 'pass' : 'fail' };
  }
  // With `maxRelativeIncrease` and bounds of the metric, the lower maximum counts.
  const bounds = { ...own, max: Math.min(own.max ?? Number.POSITIVE_INFINITY, relative) };
  const detail = `the ${baselineOf} has ${round(baseline)}`;
  return { value, ...bounds, detail, verdict: isInside(value, bounds) ? 'pass' : 'fail' };
}

/** A difference that is as sure as asked for and, where the metric says how large it must be, that large. */
function differs({ compare, maxRelativeIncrease }: CanaryMetric, p: number, isAbove: boolean): boolean {
  const isSure = p < (100 - (compare?.confidence ?? 95)) / 100;
  return isSure && (maxRelativeIncrease === undefined || isAbove);
}

function isInside(value: number, { min, max }: { min?: number; max?: number }): boolean {
  return !(min !== undefined && value < min) && !(max !== undefined && value > max);
}

function verdictWithoutValue(
  metric: CanaryMetric,
  reading: MetricReading,
  purpose: 'analysis' | 'postPromotion',
): CheckResult['verdict'] {
  // What is still to come may be a failure.
  if (reading.kind === 'noData' && reading.isPending) return 'inconclusive';
  if (reading.kind === 'noData' && metric.onNoData === 'pass') return 'pass';
  if (purpose === 'postPromotion') return 'inconclusive';
  const { onNoData = metric.compare ? 'wait' : 'fail' } = metric;
  return reading.kind === 'noData' && onNoData === 'wait' ? 'inconclusive' : 'fail';
}

/**
 * thresholdRange, or Flagger's deprecated threshold: a minimum for the success rate, else a maximum, by default 0 (flagger-behaviour 2.5): a
 * check without a bound would pass everything. A metric that is compared with the primary has its maximum from there.
 */
export function boundsOf(metric: CanaryMetric): { min?: number; max?: number } {
  const { thresholdRange: range, threshold } = metric;
  if (range) {
    return {
      ...(range.min === undefined ? {} : { min: range.min }),
      ...(range.max === undefined ? {} : { max: range.max }),
    };
  }
  if (metric.name === SUCCESS_RATE) return threshold === undefined ? {} : { min: threshold };
  if (threshold === undefined && (metric.compareWith || metric.compare)) return {};
  return { max: threshold ?? 0 };
}

const fewestDigits = 4;

function round(value: number, digits = fewestDigits): number {
  return Number(value.toPrecision(digits));
}

/** The verdict of the webhooks of a type as a whole. Each one in the spec must have approved; without webhooks it is approved. */
export function verdictOfHooks(
  canary: Canary,
  outcome: Pick<CheckOutcome, 'hooks'>,
  type: HookType,
): HookAnswer['verdict'] {
  const answers = outcome.hooks.filter((answer) => answer.type === type);
  const approved = answers.filter((answer) => answer.verdict === 'approved').length;
  if (approved >= hooksOf(canary, type).length) return 'approved';
  return answers.some((answer) => answer.verdict === 'refused') ? 'refused' : 'unreachable';
}

/** One line about the first webhook of a type that did not approve. */
export function whyClosed({ hooks }: Pick<CheckOutcome, 'hooks'>, type: HookType): string {
  const answer = hooks.find((candidate) => candidate.type === type && candidate.verdict !== 'approved');
  return answer ? `${shorten(answer.name, MAX_NAME_CHARACTERS)} ${answer.detail}` : 'it has not answered yet';
}

/**
 * The answers as check results. In an analysis everything but an approval fails, as in Flagger; after promotion only a refusal does, and a
 * webhook that was not reached is inconclusive (design section 2.3).
 */
export function judgeHooks(
  canary: Canary,
  outcome: Pick<CheckOutcome, 'hooks' | 'atMs'>,
  type: HookType,
  purpose: 'analysis' | 'postPromotion' | 'control',
): CheckResult[] {
  const time = stamp(outcome.atMs);
  const answers = outcome.hooks.filter((answer) => answer.type === type);
  const results = answers.map(({ name, verdict, detail }): CheckResult => {
    const isUnknown = purpose !== 'analysis' && verdict === 'unreachable';
    const failed = isUnknown ? 'inconclusive' : 'fail';
    return {
      name: shorten(name, MAX_NAME_CHARACTERS),
      verdict: verdict === 'approved' ? 'pass' : failed,
      detail: shorten(detail, MAX_DETAIL_CHARACTERS),
      time,
    };
  });
  const missing = results.every((result) => result.verdict === 'pass')
    ? hooksOf(canary, type)[answers.length]
    : undefined;
  if (!missing) return results;
  const verdict = purpose === 'analysis' ? 'fail' : 'inconclusive';
  return [
    ...results,
    { name: shorten(missing.name, MAX_NAME_CHARACTERS), verdict, detail: 'the webhook was not called', time },
  ];
}
