import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import type { HttpRequest } from '../../../http/types.ts';
import type { MetricProvider, MetricRequest } from '../provider.ts';
import { cloudwatch } from './cloudwatch.ts';
import { loki, prometheus } from './prometheus.ts';
import { stackdriver } from './stackdriver.ts';

const nowMs = Date.parse('2026-03-01T12:00:00Z');
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const serviceAccountKey = JSON.stringify({
  type: 'service_account',
  client_email: 'holdfast@project.example.com',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
});
const request: MetricRequest = {
  address: 'https://metrics.example.com',
  query: '[{"Id": "e1", "Expression": "SELECT 1"}]',
  namespace: 'shop',
  headers: {},
  secret: {
    ...{ aws_access_key_id: 'AKIDEXAMPLE', aws_secret_access_key: 'secret-of-aws' },
    ...{ project: 'shop', serviceAccountKey },
  },
  secretName: 'shop/access',
  insecureSkipVerify: false,
  region: 'eu-north-1',
  jsonPointer: undefined,
  timeoutMs: 5_000,
  nowMs,
  intervalMs: 60_000,
  windowMs: 60_000,
};

/** The provider's reading of this answer. */
function readingOf(provider: MetricProvider, answer: object) {
  const send = async ({ url }: HttpRequest) => {
    const isToken = new URL(url).host === 'oauth2.googleapis.com';
    const text = JSON.stringify(isToken ? { access_token: 'token' } : answer);
    return { status: 200, headers: {}, body: Buffer.from(text) };
  };
  return provider.query(request, { send });
}

const limited = { Value: 'Maximum number of allowed metrics exceeded' };

test.each([
  [
    { StatusCode: 'Forbidden', Messages: [{ Value: 'no right' }] },
    {},
    'the query failed: Forbidden: no right',
  ],
  [{ StatusCode: 'InternalError' }, {}, 'the query failed: InternalError'],
  [{ StatusCode: 'PartialData' }, {}, 'the answer is not complete: PartialData'],
  [{}, { Messages: [limited] }, `the answer is not complete: ${limited.Value}`],
])('CloudWatch answers 200 with %j and %j: that is the reason told', async (result, answer, detail) => {
  const whole = { Id: 'e1', StatusCode: 'Complete', Timestamps: [nowMs / 1_000 - 60], Values: [0] };
  const complete = { MetricDataResults: [whole], Messages: [] };
  const failed = { ...complete, MetricDataResults: [{ ...whole, ...result }], ...answer };

  expect(await readingOf(cloudwatch, complete)).toEqual({ kind: 'value', value: 0 });
  expect(await readingOf(cloudwatch, failed)).toEqual({ kind: 'error', detail });
});

test('CloudWatch has a complete period also where that is longer than ten intervals', async () => {
  const period = 600;
  const query = JSON.stringify([{ Id: 'm1', MetricStat: { Metric: {}, Period: period, Stat: 'Sum' } }]);
  /** A value for each period that begins in the time that is asked about. */
  const send = async ({ body }: HttpRequest) => {
    const { StartTime, EndTime } = JSON.parse(String(body)) as { StartTime: number; EndTime: number };
    const Timestamps: number[] = [];
    for (let at = Math.ceil(StartTime / period) * period; at < EndTime; at += period) Timestamps.unshift(at);
    const answer = { MetricDataResults: [{ Timestamps, Values: Timestamps.map(() => 7) }] };
    return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(answer)) };
  };
  const asked = { ...request, query, nowMs: nowMs + 100_000, intervalMs: 30_000, windowMs: 30_000 };

  expect(await cloudwatch.query(asked, { send })).toEqual({ kind: 'value', value: 7 });
});

test('an answer of Cloud Monitoring from which series may be missing is no value', async () => {
  const pointData = [
    { values: [{ doubleValue: 0 }], timeInterval: { endTime: new Date(nowMs).toISOString() } },
  ];
  const whole = { timeSeriesData: [{ pointData }] };
  const partialErrors = [{ code: 14, message: 'one zone did not answer' }];

  expect(await readingOf(stackdriver, whole)).toEqual({ kind: 'value', value: 0 });
  expect(await readingOf(stackdriver, { ...whole, partialErrors })).toEqual({
    kind: 'error',
    detail: 'the answer is not complete: one zone did not answer',
  });
});

const sample = [nowMs / 1_000, '0'] as const;
const answering = (answer: object) => async () => ({
  ...{ status: 200, headers: {}, body: Buffer.from(JSON.stringify(answer)) },
});
const vector = { status: 'success', data: { resultType: 'vector', result: [{ value: sample }] } };

test.each([
  [
    { isPartial: true, warnings: ['receive series from store-eu: connection refused'] },
    'receive series from store-eu: connection refused',
  ],
  [{ warnings: ['PromQL info: no counter', 'store-eu: timeout'] }, 'store-eu: timeout'],
  [{ isPartial: true }, 'isPartial is true'],
])('an answer of a Prometheus API from which series may be missing is no value: %j', async (said, why) => {
  const range = { status: 'success', data: { result: [{ values: [sample] }] } };
  const asked = { ...request, secret: undefined, points: { stepMs: 10_000, count: 2 } };
  const error = { kind: 'error', detail: `the answer is not complete: ${why}` };

  expect(await prometheus.query(asked, { send: answering({ ...vector, ...said }) })).toEqual(error);
  expect(await prometheus.queryPoints?.(asked, { send: answering({ ...range, ...said }) })).toEqual(error);
});

test('of a long warning the cause at its end is told, and no part of a secret at which it is cut', async () => {
  const secret = { token: 'token-of-the-reader' };
  const warning = `receive series from ${'a'.repeat(145)} ${secret.token} ${'b'.repeat(90)}: connection refused`;
  const send = answering({ ...vector, warnings: [warning] });

  const reading = await prometheus.query({ ...request, secret }, { send });

  const detail = 'detail' in reading ? reading.detail : '';
  expect(detail).toMatch(/^the answer is not complete: receive series from a+… b+: connection refused$/);
});

test.each([
  [prometheus, { isPartial: false, warnings: [] }],
  [prometheus, { warnings: ['PromQL warning: quantile value should be between 0 and 1, got NaN'] }],
  [prometheus, { warnings: ['3 more warning annotations omitted'] }],
  [prometheus, { warnings: ['No StoreAPIs matched for this query'] }],
  [loki, { warnings: ['Query was executed using the new experimental query engine'] }],
])('an answer of $type with a hint about the query alone is a value: %j', async ({ query }, said) => {
  const send = answering({ ...vector, ...said });

  expect(await query({ ...request, secret: undefined }, { send })).toEqual({ kind: 'value', value: 0 });
});
