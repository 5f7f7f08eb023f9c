/** Amazon CloudWatch: GetMetricData (flagger-behaviour.md 4), by the JSON protocol of AWS's own clients. */
import * as z from 'zod';
import { awsDomain, awsKeys, signed } from '../cloud/aws.ts';
import { askedMs, newestReading, onlyOne } from '../points.ts';
import { failedReading, jsonIn, type MetricRequest } from '../provider.ts';
import { below, restProvider } from '../rest.ts';

const messagesSchema = z.array(z.object({ Value: z.string().nullish() })).nullish();
const answerSchema = z.object({
  /** Of the whole request, such as that too many metrics match: the results are of the others. */
  Messages: messagesSchema,
  MetricDataResults: z.array(
    z.object({
      /** Seconds at which a period begins. */
      Timestamps: z.array(z.number()).default([]),
      Values: z.array(z.union([z.number(), z.string(), z.null()])).default([]),
      StatusCode: z.string().nullish(),
      Messages: messagesSchema,
    }),
  ),
});
const querySchema = z.array(z.record(z.string(), z.unknown())).min(1).max(100);

/** Its entry of the table. The query is a JSON array of MetricDataQuery, of which one returns data. */
export const cloudwatch = restProvider({
  type: 'cloudwatch',
  address: (request) => `https://monitoring.${regionOf(request)}.${awsDomain(regionOf(request))}`,
  title: 'the metric data of CloudWatch',
  answer: answerSchema,
  async question(request, base, { identity }) {
    const { nowMs } = request;
    const region = regionOf(request);
    const body = JSON.stringify({
      MetricDataQueries: queriesOf(request),
      // Of two periods one is complete.
      StartTime: Math.floor((nowMs - Math.max(askedMs(request), 2 * periodMsOf(request))) / 1_000),
      EndTime: Math.floor(nowMs / 1_000),
      // No MaxDatapoints: the points that an expression adds up would count, too.
      ScanBy: 'TimestampDescending',
    });
    const url = below(base, '/');
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'GraniteServiceVersion20100801.GetMetricData',
    };
    const keys = await awsKeys(request, region, identity);
    const unsigned = { url, service: 'monitoring', region, headers, body };
    return { url, method: 'POST', headers: await signed(unsigned, keys, nowMs), body };
  },
  reading: ({ MetricDataResults, Messages: general }, request) =>
    onlyOne(MetricDataResults, '"ReturnData": false of all but one', (only) => {
      const { Timestamps, Values, StatusCode, Messages } = only;
      const said = [...(Messages ?? []), ...(general ?? [])][0]?.Value;
      if (StatusCode === 'PartialData' || general?.length)
        return failedReading(`the answer is not complete: ${said ?? StatusCode}`);
      if (StatusCode && StatusCode !== 'Complete')
        return failedReading(`the query failed: ${[StatusCode, said].filter(Boolean).join(': ')}`);
      const points = Timestamps.map((seconds, index) => ({ atMs: seconds * 1_000, value: Values[index] }));
      return newestReading(points, request, periodMsOf(request));
    }),
});

/** Throws without a region, or for an invalid name. */
function regionOf({ region }: MetricRequest): string {
  if (region && /^[a-z0-9-]{1,32}$/.test(region)) return region;
  throw new Error('spec.provider.region is missing or no region; it must be like eu-north-1');
}

/** Throws for what is no JSON array. */
function queriesOf({ query }: MetricRequest): z.infer<typeof querySchema> {
  const parsed = querySchema.safeParse(jsonIn(query));
  if (parsed.success) return parsed.data;
  throw new Error('the query is not a JSON array of MetricDataQuery');
}

/** The longest period of the queries; CloudWatch's own is a minute. */
function periodMsOf(request: MetricRequest): number {
  const periods = queriesOf(request).map(({ Period, MetricStat }) => {
    const { Period: ofStat } = (MetricStat ?? {}) as { Period?: unknown };
    return Number(Period ?? ofStat);
  });
  return Math.max(...periods.filter(Number.isFinite), periods.some(Number.isFinite) ? 0 : 60) * 1_000;
}
