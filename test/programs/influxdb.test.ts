/** MetricTemplates of type influxdb against InfluxDB itself: 1.7, the last whose Flux is written in Go; the endpoint is that of 2. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../src/http/client.ts';
import { type MetricServer, readTemplate, startMetricServer } from './metric-reading.ts';
import { programs } from './programs.ts';

const http = createHttpClient({ allowLoopback: true });
const token = 'ada:s3cret';
let server: MetricServer;

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'influxdb-'));
  const settings = join(folder, 'influxdb.conf');
  writeFileSync(
    settings,
    `
reporting-disabled = true
bind-address = "127.0.0.1:0"
[meta]
dir = "${folder}/meta"
[data]
dir = "${folder}/data"
wal-dir = "${folder}/wal"
[http]
bind-address = "127.0.0.1:0"
flux-enabled = true
auth-enabled = true
`,
  );
  server = await startMetricServer(
    programs.influxd,
    ['-config', settings],
    /Listening on HTTP.* addr=(127\.0\.0\.1:\d+)/,
  );
  await post('/query', { q: `CREATE USER ada WITH PASSWORD 's3cret' WITH ALL PRIVILEGES` });
  await post('/query', { q: 'CREATE DATABASE shop' });
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const points = (app: string, values: readonly number[], newestSecondsAgo = 0) =>
    values.map((value, index) => {
      const at = nowSeconds - newestSecondsAgo - 10 * (values.length - 1 - index);
      return `errors,app=${app} value=${value} ${at}`;
    });
  const written = [
    ...points('web', [1, 2, 3, 4]),
    ...points('cart', [10, 20, 30, 40]),
    ...points('old', [1, 2], 3_000),
  ];
  await post('/write?db=shop&precision=s', written.join('\n'));
});

async function post(path: string, body: Record<string, string> | string): Promise<void> {
  const response = await fetch(`${server.address}${path}`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(token).toString('base64')}` },
    body: typeof body === 'string' ? body : new URLSearchParams(body),
  });
  expect([response.ok, await response.text()]).toEqual([true, expect.not.stringContaining('error')]);
}

afterAll(async () => {
  await http.close();
  await server.stop();
});

const read = (query: string, secret: Record<string, string> = { org: 'shop', token }) =>
  readTemplate(http, { type: 'influxdb', address: server.address }, query, secret);

describe('InfluxDB', () => {
  const from = (range: string, app: string) =>
    `from(bucket: "shop/autogen") |> range(start: -${range}) |> filter(fn: (r) => r.app =~ /^(${app})$/)`;

  test.each([
    ['the last point', `${from('1m', '{{ target }}')} |> last()`, { kind: 'value', value: 4 }],
    ['a sum', `${from('5m', 'cart')} |> sum()`, { kind: 'value', value: 100 }],
    ['all points of a series: the newest', from('1m', 'web'), { kind: 'value', value: 4 }],
    [
      'several series made one',
      `${from('5m', 'web|cart')} |> last() |> group() |> sum()`,
      { kind: 'value', value: 44 },
    ],
    [
      'several series',
      `${from('1m', 'web|cart')} |> last()`,
      { kind: 'error', detail: expect.stringContaining('|> group() |> sum()') },
    ],
    ['no series', `${from('1m', 'nobody')} |> last()`, { kind: 'noData' }],
    [
      'points that are old',
      from('2h', 'old'),
      { kind: 'noData', detail: expect.stringContaining('s old; the data is stale') },
    ],
    ['a bucket that does not exist', 'from(bucket: "nothing") |> range(start: -1m)', { kind: 'error' }],
    ['what is no Flux', 'from(bucket:', { kind: 'error' }],
  ])('is read for %s', async (_, query, reading) => {
    expect(await read(query)).toMatchObject(reading);
  });

  test('refuses a wrong token, which no message shows', async () => {
    const reading = await read(from('1m', 'web'), { org: 'shop', token: 'ada:guessed' });
    expect(reading).toMatchObject({ kind: 'error', detail: expect.stringContaining('401') });
    expect(JSON.stringify(reading)).not.toContain('guessed');
  });
});
