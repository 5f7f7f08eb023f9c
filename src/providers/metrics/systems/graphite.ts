/** Graphite's render API (flagger-behaviour.md 4). */
import * as z from 'zod';
import { newestReading, onlyOne } from '../points.ts';
import type { MetricProvider, MetricRequest } from '../provider.ts';
import { below, credentials, restProvider } from '../rest.ts';

const answerSchema = z.array(
  z.object({
    /** Value, which may be infinite, and seconds at which its bucket begins; either may be text. */
    datapoints: z.array(z.tuple([z.unknown(), z.coerce.number()])),
  }),
);

/** Its entry of the table. The query is that of a URL: `target=...&from=-1min`. */
export const graphite: MetricProvider = {
  ...restProvider({
    type: 'graphite',
    title: 'a list of Graphite targets',
    answer: answerSchema,
    question: (request, base) => ({
      url: below(base, '/render', { ...parametersOf(request), format: 'json' }),
      auth: credentials(request),
    }),
    reading: (targets, request) =>
      onlyOne(targets, 'sumSeries(...)', ({ datapoints }) =>
        newestReading(
          datapoints.map(([value, seconds]) => ({ atMs: seconds * 1_000, value })),
          { ...request, windowMs: request.windowMs + bucketMsOf(datapoints, request) },
        ),
      ),
  }),
  // What a URL would read as more than the value; quotes stay, since they are looked for after this.
  encode: (value) => value.replace(/[%&+]/g, encodeURIComponent),
};

/** Throws for a query without a target. */
function parametersOf({ query }: MetricRequest): Record<string, string> {
  const given = new URLSearchParams(query.replace(/\s+/g, ' ').trim());
  if (!given.get('target')?.trim())
    throw new Error('the query names no target; it must be like target=sumSeries(a.b)&from=-1min');
  if (given.getAll('target').length > 1)
    throw new Error('the query names several targets; aggregate them to one, as with sumSeries(...)');
  return Object.fromEntries([...given].map(([name, value]) => [name, value.trim()]));
}

/** Milliseconds of the units of a relative `from`, such as `-10min`. */
const unitsMs = { s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * A point says when its bucket began. The last one may be filling: what is asked, a sum or an average, is the query's to say. One point alone, as
 * of `summarize(..., "10min", "sum", true)`, covers all that is asked.
 */
function bucketMsOf(datapoints: ReadonlyArray<readonly [unknown, number]>, request: MetricRequest): number {
  const [first, second] = datapoints;
  if (first && second) return Math.max(0, second[1] - first[1]) * 1_000;
  const { amount, unit } =
    /^-(?<amount>\d{1,6})(?<unit>s|min|h|d)/.exec(parametersOf(request).from ?? '')?.groups ?? {};
  return Number(amount ?? 0) * unitsMs[(unit ?? 's') as keyof typeof unitsMs];
}
