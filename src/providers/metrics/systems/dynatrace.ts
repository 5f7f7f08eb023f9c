/** Dynatrace: a metric selector (flagger-behaviour.md 4). */
import * as z from 'zod';
import { askedMs, onlyOne, valueReading } from '../points.ts';
import { below, restProvider, secretValue } from '../rest.ts';

const answerSchema = z.object({
  result: z.array(
    z.object({
      data: z.array(z.object({ values: z.array(z.union([z.number(), z.string(), z.null()])) })),
    }),
  ),
});

/** Its entry of the table: one value over ten intervals up to now, as Flagger asks. A null is no data; Flagger reads 0. */
export const dynatrace = restProvider({
  type: 'dynatrace',
  title: 'a Dynatrace metric query result',
  answer: answerSchema,
  question: (request, base) => {
    const { query, nowMs } = request;
    return {
      url: below(base, '/api/v2/metrics/query', {
        metricSelector: query.trim(),
        resolution: 'Inf',
        from: String(nowMs - askedMs(request)),
        to: String(nowMs),
      }),
      headers: { authorization: `Api-Token ${secretValue(request, 'dynatrace_token')}` },
    };
  },
  reading: ({ result }) =>
    onlyOne(
      result.flatMap(({ data }) => data),
      ':splitBy():avg',
      ({ values }) =>
        values.length === 0
          ? { kind: 'noData', detail: 'the query returns no points' }
          : valueReading(values.at(-1)),
    ),
});
