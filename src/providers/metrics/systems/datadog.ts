/** Datadog: a query of time series (flagger-behaviour.md 4). */
import * as z from 'zod';
import { askedMs, newestReading, onlyOne } from '../points.ts';
import { below, restProvider, secretValue } from '../rest.ts';

const answerSchema = z.object({
  status: z.literal('ok').optional(),
  series: z.array(
    z.object({
      /** Milliseconds at which a bucket begins, and its value. */
      pointlist: z.array(z.tuple([z.number(), z.union([z.number(), z.string(), z.null()])])),
      /** Seconds of a bucket. */
      interval: z.number().nonnegative().optional(),
    }),
  ),
});

/** Its entry of the table. Flagger takes the oldest point of ten intervals, which can be older than the release; here it is the newest complete one. */
export const datadog = restProvider({
  type: 'datadog',
  address: 'https://api.datadoghq.com',
  title: 'a Datadog query result',
  answer: answerSchema,
  question(request, base) {
    const { query, nowMs } = request;
    const fromMs = nowMs - askedMs(request);
    const [from, to] = [fromMs, nowMs].map((ms) => String(Math.floor(ms / 1_000))) as [string, string];
    return {
      url: below(base, '/api/v1/query', { query: query.trim(), from, to }),
      headers: {
        'dd-api-key': secretValue(request, 'datadog_api_key'),
        'dd-application-key': secretValue(request, 'datadog_application_key'),
      },
    };
  },
  reading: ({ series }, request) =>
    onlyOne(series, 'avg:...{...} without "by"', ({ pointlist, interval = 0 }) => {
      const points = pointlist.map(([atMs, value]) => ({ atMs, value }));
      return newestReading(points, request, interval * 1_000);
    }),
});
