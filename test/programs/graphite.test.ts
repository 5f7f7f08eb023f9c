/** MetricTemplates of type graphite against Graphite itself: Debian's graphite-web, with series in Whisper files. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../src/http/client.ts';
import { readTemplate } from './metric-reading.ts';
import { programs } from './programs.ts';

const http = createHttpClient({ allowLoopback: true });
let server: ChildProcess;
let address: string;

beforeAll(async () => {
  const packages = join(programs.graphite, 'usr/lib');
  const folder = mkdtempSync(join(tmpdir(), 'graphite-'));
  server = spawn('/usr/bin/python3', [join(import.meta.dirname, 'graphite/server.py'), folder], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PYTHONPATH: join(packages, 'python3/dist-packages'),
      LD_LIBRARY_PATH: join(packages, process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu'),
    },
  });
  const nowSeconds = Math.floor(Date.now() / 1_000);
  /** One point every ten seconds, the newest at the end. */
  const points = (values: readonly number[], newestSecondsAgo = 0) =>
    values.map((value, index) => [nowSeconds - newestSecondsAgo - 10 * (values.length - 1 - index), value]);
  const series = {
    'shop.web.errors': points([1, 2, 3, 4]),
    'shop.cart.errors': points([10, 20, 30, 40]),
    'shop.old.errors': points([1, 2, 3, 4], 400),
  };
  server.stdin?.end(JSON.stringify(series));
  const lines = createInterface({ input: server.stdout ?? process.stdin });
  for await (const line of lines) {
    const port = /listens on (\d+)/.exec(line)?.[1];
    if (!port) continue;
    address = `http://127.0.0.1:${port}`;
    break;
  }
});

afterAll(async () => {
  await http.close();
  server.kill('SIGKILL');
  if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
});

const read = (query: string) => readTemplate(http, { type: 'graphite', address }, query);

describe('Graphite', () => {
  test.each([
    ['one series', 'target=shop.{{ target }}.errors&from=-1min', { kind: 'value', value: 4 }],
    ['a sum of several', 'target=sumSeries(shop.{web,cart}.errors)&from=-1min', { kind: 'value', value: 44 }],
    [
      'a function over time',
      'target=summarize(shop.cart.errors,"10min","max",true)&from=-10min',
      { kind: 'value', value: 40 },
    ],
    [
      'the example of Flagger, of buckets',
      "target=summarize(asPercent(sumSeries(shop.web.errors), sumSeries(shop.{web,cart}.errors)), '1min', 'avg')",
      { kind: 'value', value: expect.closeTo(100 / 11) },
    ],
    [
      'several series',
      'target=shop.{web,cart}.errors&from=-1min',
      { kind: 'error', detail: expect.stringContaining('2 series') },
    ],
    ['no series', 'target=shop.nobody.errors&from=-1min', { kind: 'noData' }],
    ['points that are all missing', 'target=shop.old.errors&from=-1min', { kind: 'noData' }],
    [
      'points that are old',
      'target=shop.old.errors&from=-10min',
      { kind: 'noData', detail: expect.stringContaining('s old; the data is stale') },
    ],
    [
      'a function that does not exist',
      'target=nothing(shop.web.errors)&from=-1min',
      { kind: 'error', detail: 'HTTP 400' },
    ],
  ])('is read for %s', async (_, query, reading) => {
    expect(await read(query)).toMatchObject(reading);
  });
});
