/** New Relic: an NRQL query of one account (flagger-behaviour.md 4). */
import * as z from 'zod';
import { isRecord } from '../../../api/kubernetes.ts';
import { onlyOne, valueReading } from '../points.ts';
import { failedReading } from '../provider.ts';
import { below, restProvider, secretValue } from '../rest.ts';

const answerSchema = z.object({ results: z.array(z.record(z.string(), z.unknown())) });

/** Its entry of the table. The query's time is the metric's interval. */
export const newrelic = restProvider({
  type: 'newrelic',
  address: 'https://insights-api.newrelic.com',
  title: 'a New Relic query result',
  answer: answerSchema,
  question(request, base) {
    const account = encodeURIComponent(secretValue(request, 'newrelic_account_id'));
    const seconds = Math.floor(request.intervalMs / 1_000);
    const nrql = `${request.query.trim()} SINCE ${seconds} seconds ago`;
    return {
      url: below(base, `/v1/accounts/${account}/query`, { nrql }),
      headers: { 'x-query-key': secretValue(request, 'newrelic_query_key') },
    };
  },
  reading: ({ results }) =>
    onlyOne(results, 'one function and no FACET', (result) => {
      // A calculation is called `result`, a function by its own name, and a percentile by its number below that.
      const named = 'result' in result ? [result.result] : Object.values(result);
      const values = named.flatMap((value) => (isRecord(value) ? Object.values(value) : [value]));
      if (values.length === 1) return valueReading(values[0]);
      return failedReading(`the query returns ${values.length} values; it must return one number`);
    }),
});
