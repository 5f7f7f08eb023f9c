/** Prometheus and systems with its API (flagger-behaviour.md 4, S29), and Loki, whose metric queries have the same answers. */
import * as z from 'zod';
import type { MetricReading } from '../../../api/observed.ts';
import { freshReading, onlyOne, pointsReading } from '../points.ts';
import { failedReading, type MetricProvider, type MetricRequest, type PointsRequest } from '../provider.ts';
import { below, credentials, restProvider } from '../rest.ts';

const sample = z.tuple([z.number(), z.string().max(64)]);
const seriesSchema = z.union([z.object({ value: sample }), z.object({ histogram: z.array(z.unknown()) })]);
const dataSchema = z.object({ analysis: z.unknown().optional() });
const answerSchema = z.discriminatedUnion('resultType', [
  dataSchema.extend({ resultType: z.literal('vector'), result: z.array(seriesSchema) }),
  dataSchema.extend({ resultType: z.literal('scalar'), result: sample }),
  dataSchema.extend({ resultType: z.literal('matrix') }),
  dataSchema.extend({ resultType: z.literal('string') }),
  dataSchema.extend({ resultType: z.literal('streams') }),
]);
/** How servers say that series may be missing in an answer with status 200: Thanos and Cortex in words, VictoriaMetrics with a flag. */
const successSchema = z.object({
  status: z.literal('success'),
  warnings: z.array(z.string()).nullish(),
  isPartial: z.boolean().nullish(),
  stats: z.object({ seriesFetched: z.unknown() }).nullish().catch(undefined),
  data: dataSchema,
});
const matrixSchema = successSchema.extend({
  data: dataSchema.extend({ result: z.array(z.object({ values: z.array(sample) })) }),
});
const envelopeSchema = successSchema.extend({ data: answerSchema });

/** The `prometheus` entry of the table of providers. */
export const prometheus = instantQueries('prometheus', '/api/v1/query', 'a Prometheus query result');

/** Grafana Loki: a metric query over logs, such as `sum(rate({app="x"} |= "error" [1m]))`. */
export const loki = instantQueries('loki', '/loki/api/v1/query', 'a Loki query result');

/** `extra`: parameters that this system alone knows. */
interface Asked extends MetricRequest {
  readonly extra?: Readonly<Record<string, string>>;
}

/** White space in a query has no meaning and is collapsed, as Flagger does. */
function instantQueries(type: string, path: string, title: string): MetricProvider {
  const parametersOf = ({ query, maxSampleAgeMs, extra }: Asked) => ({
    query: query.replace(/\s+/g, ' ').trim(),
    ...extra,
    // How far Prometheus looks back for the newest sample of a series; its default is 5 minutes.
    ...(maxSampleAgeMs === undefined ? {} : { lookback_delta: String(maxSampleAgeMs / 1_000) }),
  });
  const instant = restProvider({
    type,
    title,
    answer: envelopeSchema,
    question: (request: Asked, base) => ({
      url: below(base, path, parametersOf(request)),
      auth: credentials(request),
    }),
    reading: (answer, request, again) =>
      gapOf(answer, type) ?? askedBetter(answer, request, again) ?? readingOf(answer.data, request),
  });
  const range = restProvider({
    type,
    title: `${title} over time`,
    answer: matrixSchema,
    question: (request: PointsRequest & Asked, base) => {
      const { stepMs, count } = request.points;
      const end = new Date(request.nowMs).toISOString();
      const start = new Date(request.nowMs - (count - 1) * stepMs).toISOString();
      const parameters = { ...parametersOf(request), start, end, step: String(stepMs / 1_000) };
      return { url: below(base, `${path}_range`, parameters), auth: credentials(request) };
    },
    reading: (answer, request, again) =>
      gapOf(answer, type) ??
      askedBetter(answer, request, again) ??
      onlyOne(answer.data.result, 'sum(...)', ({ values }) =>
        pointsReading(
          values.map(([seconds, value]) => ({ atMs: seconds * 1_000, value })),
          request,
        ),
      ),
  });
  return { ...instant, queryPoints: range.query };
}

/**
 * The answer to the same question with the parameters of the system that answered, which others may refuse, as Google's frontend does. VictoriaMetrics,
 * which alone says how many series it fetched, answers as of 30 s ago, with the time of now: a check would judge the traffic before that of its step. Thanos,
 * which alone has an analysis, says nothing of missing stores where it has none at all, or where its frontend divides a query.
 */
function askedBetter<Request extends Asked>(
  { stats, data }: z.infer<typeof successSchema>,
  request: Request,
  again: (better: Request) => Promise<MetricReading>,
): Promise<MetricReading> | undefined {
  if (request.extra) return undefined;
  if (stats?.seriesFetched !== undefined) return again({ ...request, extra: { latency_offset: '1ms' } });
  if (data.analysis !== undefined) return again({ ...request, extra: { partial_response: 'false' } });
  return undefined;
}

/**
 * The reading of an answer from which series may be missing. No warning of that: what PromQL says about the query itself, and that no store of
 * Thanos can have such series, as before the first error of an error rate. Loki uses the field for hints.
 */
function gapOf(
  { warnings, isPartial }: z.infer<typeof successSchema>,
  type: string,
): MetricReading | undefined {
  const said = type === 'loki' ? undefined : warnings?.find((warning) => !harmlessWarning.test(warning));
  if (said === undefined && isPartial !== true) return undefined;
  return failedReading(`the answer is not complete: ${said ?? 'isPartial is true'}`);
}

const harmlessWarning = /^PromQL |^\d+ more warning annotations omitted|No StoreAPIs matched/i;

function readingOf(answer: z.infer<typeof answerSchema>, request: MetricRequest): MetricReading {
  if (answer.resultType !== 'vector' && answer.resultType !== 'scalar')
    return failedReading(`the query returns a ${answer.resultType}; it must return one number`);
  const series = answer.resultType === 'scalar' ? [{ value: answer.result }] : answer.result;
  return onlyOne(series, 'sum(...)', (only) => {
    if (!('value' in only))
      return failedReading(
        'the query returns a native histogram; it must return one number, as with histogram_quantile(...)',
      );
    const [seconds, value] = only.value;
    return freshReading({ atMs: seconds * 1_000, value }, request);
  });
}
