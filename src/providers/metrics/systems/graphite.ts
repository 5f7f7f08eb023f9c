/** Graphite's render API (flagger-behaviour.md 4). */
import * as z from 'zod';
import { newestReading, onlyOne } from '../points.ts';
import type { MetricRequest } from '../provider.ts';
import { below, credentials, restProvider } from '../rest.ts';

const answerSchema = z.array(
  z.object({
    /** Value, and seconds at which its bucket begins. */
    datapoints: z.array(z.tuple([z.union([z.number(), z.string(), z.null()]), z.number()])),
  }),
);

/** Its entry of the table. The query is that of a URL: `target=...&from=-1min`. */
export const graphite = restProvider({
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
        { ...request, windowMs: request.windowMs + bucketMsOf(datapoints) },
      ),
    ),
});

/** Throws for a query without a target. */
function parametersOf({ query }: MetricRequest): Record<string, string> {
  const given = new URLSearchParams(query.replace(/\s+/g, ' ').trim());
  if (!given.get('target')?.trim())
    throw new Error('the query names no target; it must be like target=sumSeries(a.b)&from=-1min');
  if (given.getAll('target').length > 1)
    throw new Error('the query names several targets; aggregate them to one, as with sumSeries(...)');
  return Object.fromEntries([...given].map(([name, value]) => [name, value.trim()]));
}

/** A point says when its bucket began. The last one may be filling: what is asked, a sum or an average, is the query's to say. */
function bucketMsOf(datapoints: ReadonlyArray<readonly [unknown, number]>): number {
  const [first, second] = datapoints;
  return first && second ? Math.max(0, second[1] - first[1]) * 1_000 : 0;
}
