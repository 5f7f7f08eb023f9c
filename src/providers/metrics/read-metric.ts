import { metricWindowMs } from '../../api/canary/canary.ts';
import { comparisonOf, pointsBetweenChecks } from '../../api/canary/comparison.ts';
import { limits } from '../../api/limits.ts';
import type { MetricReading } from '../../api/observed.ts';
import { parseDurationMs } from '../../api/time.ts';
import { failedReading, type MetricAccess, type MetricProvider, type MetricRequest } from './provider.ts';
import { type MetricSource, type Question, questionOf } from './question.ts';
import { TemplateError } from './template-parser.ts';

/**
 * Asks one metric: a built-in name first, else the inline query, else the template. Never throws; where there is no value, the answer is `noData`
 * or `error` with its reason (S29). Success rates are percent, durations milliseconds.
 */
export async function readMetric(source: MetricSource, access: MetricAccess): Promise<MetricReading> {
  try {
    return await answerTo(questionOf(source), source, access);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { kind: 'error', detail: error.message };
  }
}

async function answerTo(
  { provider, endpoint, query, samples, fromProvider }: Question,
  source: MetricSource,
  access: MetricAccess,
): Promise<MetricReading> {
  const { metric } = source;
  if (query.length > limits.queryCharacters)
    return failedReading(
      `the query has ${query.length} characters; at most ${limits.queryCharacters} are sent`,
    );
  const maxSampleAgeMs = metric.maxSampleAge === undefined ? undefined : parseDurationMs(metric.maxSampleAge);
  const intervalMs = metricWindowMs(metric);
  const request = { ...endpoint, intervalMs, windowMs: maxSampleAgeMs ?? intervalMs, maxSampleAgeMs };
  const wanted = metric.minSamples ?? 0;
  if (wanted > 0) {
    if (!samples) return { kind: 'error', detail: 'minSamples works with built-in metrics only' };
    const count = await provider.query({ ...request, query: samples }, access);
    if (count.kind !== 'value') return count;
    if (count.value < wanted)
      return {
        kind: 'noData',
        detail: `${Math.floor(count.value)} requests in the window; minSamples is ${wanted}`,
      };
  }
  const reading = await ask(source, provider, { ...request, query }, access);
  if (reading.kind === 'noData' && metric.maxSampleAge)
    return { ...reading, detail: `${reading.detail} (maxSampleAge is ${metric.maxSampleAge})` };
  if (reading.kind !== 'value') return reading;
  const points = reading.points?.map(fromProvider);
  return { ...reading, value: fromProvider(reading.value), ...(points ? { points } : {}) };
}

/** One value, or the points between two checks; those before may be from before the last change of traffic (S4). */
async function ask(
  { metric, canary, asPoints }: MetricSource,
  provider: MetricProvider,
  request: MetricRequest,
  access: MetricAccess,
): Promise<MetricReading> {
  const comparison = asPoints ? comparisonOf(metric) : undefined;
  if (!comparison) return provider.query(request, access);
  if (!provider.queryPoints)
    return failedReading(
      `points of type ${provider.type} cannot be compared; use compareWith: primary with maxRelativeIncrease`,
    );
  const { stepMs } = comparison;
  const points = { stepMs, count: pointsBetweenChecks(canary.spec, stepMs) };
  return provider.queryPoints({ ...request, points }, access);
}
