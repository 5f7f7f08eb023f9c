/** Google Cloud Monitoring: a query in MQL (flagger-behaviour.md 4). */
import * as z from 'zod';
import { projectOfPod, tokenOfKey, tokenOfPod } from '../cloud/google.ts';
import { newestReading, onlyOne } from '../points.ts';
import { failedReading } from '../provider.ts';
import { below, restProvider, secretValue } from '../rest.ts';

const valueSchema = z.object({
  doubleValue: z.union([z.number(), z.string()]).optional(),
  int64Value: z.union([z.number(), z.string()]).optional(),
});
const answerSchema = z.object({
  /** Why series or points may be missing. */
  partialErrors: z.array(z.object({ message: z.string().nullish() })).nullish(),
  timeSeriesData: z
    .array(
      z.object({
        pointData: z
          .array(z.object({ values: z.array(valueSchema), timeInterval: z.object({ endTime: z.string() }) }))
          .default([]),
      }),
    )
    .default([]),
});

/** Its entry of the table. Whole numbers count too; Flagger reads them as 0. */
export const stackdriver = restProvider({
  type: 'stackdriver',
  address: 'https://monitoring.googleapis.com',
  title: 'the time series of Cloud Monitoring',
  answer: answerSchema,
  async question(request, base, access) {
    const project = request.secret
      ? secretValue(request, 'project')
      : await projectOfPod(request, access.identity);
    const key = request.secret?.serviceAccountKey;
    const scope = 'https://www.googleapis.com/auth/monitoring.read';
    const token = key
      ? await tokenOfKey(key, scope, request, access)
      : await tokenOfPod(request, access.identity);
    return {
      url: below(base, `/v3/projects/${encodeURIComponent(project)}/timeSeries:query`),
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: request.query, pageSize: 100 }),
      auth: { kind: 'bearer', token },
    };
  },
  reading({ timeSeriesData, partialErrors }, request) {
    const [partial] = partialErrors ?? [];
    if (partial)
      return failedReading(`the answer is not complete: ${partial.message ?? 'it says no reason'}`);
    return onlyOne(timeSeriesData, '| group_by [], [mean(...)]', ({ pointData }) =>
      newestReading(
        pointData.map(({ values: [value], timeInterval }) => ({
          atMs: Date.parse(timeInterval.endTime),
          value: value?.doubleValue ?? value?.int64Value,
        })),
        request,
      ),
    );
  },
});
