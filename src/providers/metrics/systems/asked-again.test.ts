import { expect, test } from 'vitest';
import type { HttpRequest } from '../../../http/types.ts';
import type { MetricRequest } from '../provider.ts';
import { prometheus } from './prometheus.ts';

const nowMs = Date.parse('2026-03-01T12:00:00Z');
const request: MetricRequest = {
  address: 'http://victoria-metrics:8428',
  query: 'errors',
  namespace: 'shop',
  headers: {},
  secret: undefined,
  secretName: undefined,
  insecureSkipVerify: false,
  region: undefined,
  jsonPointer: undefined,
  timeoutMs: 5_000,
  nowMs,
  intervalMs: 60_000,
  windowMs: 60_000,
};
const points = { stepMs: 10_000, count: 3 };

/** The value is 7 unless the question says more, then it is 8; `more` stands beside every answer, `analysis` in it. */
function answeringLess({ analysis, ...more }: { analysis?: unknown; stats?: unknown }) {
  const extras: string[] = [];
  const send = async ({ url }: HttpRequest) => {
    const { pathname, searchParams } = new URL(url);
    for (const usual of ['query', 'start', 'end', 'step']) searchParams.delete(usual);
    const extra = searchParams.toString();
    extras.push(extra);
    const sample = [nowMs / 1_000, extra === '' ? '7' : '8'];
    const data = pathname.endsWith('_range')
      ? { resultType: 'matrix', result: [{ values: [sample] }], analysis }
      : { resultType: 'vector', result: [{ value: sample }], analysis };
    return {
      status: 200,
      headers: {},
      body: Buffer.from(JSON.stringify({ status: 'success', data, ...more })),
    };
  };
  return { extras, send };
}

test.each([
  [
    'VictoriaMetrics is asked again as of now, since at first it answers as of half a minute ago',
    { stats: { seriesFetched: '1', executionTimeMsec: 0 } },
    'latency_offset=1ms',
  ],
  [
    'Thanos is asked again for no part of the answer, since at first it may say nothing of missing stores',
    { analysis: {} },
    'partial_response=false',
  ],
])('%s', async (_, more, extra) => {
  const { extras, send } = answeringLess(more);

  expect(await prometheus.query(request, { send })).toMatchObject({ kind: 'value', value: 8 });
  expect(await prometheus.queryPoints?.({ ...request, points }, { send })).toMatchObject({ points: [8] });
  expect(extras).toEqual(['', extra, '', extra]);
});

test.each([{}, { stats: null }, { stats: { samples: {} } }])(
  'other servers are asked once, without a parameter that they may refuse: %j',
  async (more) => {
    const { extras, send } = answeringLess(more);

    expect(await prometheus.query(request, { send })).toMatchObject({ kind: 'value', value: 7 });
    expect(extras).toEqual(['']);
  },
);

test('the reason is told of an answer that repeats a long query before it', async () => {
  const query = `sum(rate(requests_total{${'pod=~"web-[0-9a-z]+",'.repeat(20)}}[1m])) by (a`;
  const reason = 'unexpected token "by"; unparsed data: "by (a"';
  const error = `error when executing query=${JSON.stringify(query)} for (time=1, step=300000): ${reason}`;
  const body = Buffer.from(JSON.stringify({ status: 'error', errorType: '422', error }));

  const reading = await prometheus.query(request, { send: async () => ({ status: 422, headers: {}, body }) });

  const detail = 'detail' in reading ? reading.detail : '';
  expect(detail).toMatch(/^HTTP 422: error when executing query="sum\(rate\(requests_total\{pod/);
  expect(detail.endsWith(reason)).toBe(true);
  expect(detail.length).toBeLessThan(230);
});
