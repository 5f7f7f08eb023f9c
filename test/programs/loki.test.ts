/** MetricTemplates of type loki against Loki itself: 1.6, which is smaller than later ones; what it answers here is the same. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createHttpClient } from '../../src/http/client.ts';
import { type MetricServer, readTemplate, startMetricServer } from './metric-reading.ts';
import { programs } from './programs.ts';

const http = createHttpClient({ allowLoopback: true });
let server: MetricServer;

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'loki-'));
  // Its parts ask each other at a port that they must know before: a loopback address of this process alone has it free.
  const own = `127.18.${(process.pid >> 8) & 255}.${process.pid & 255}`;
  const settings = {
    auth_enabled: false,
    server: { http_listen_address: own, http_listen_port: 3100, grpc_listen_address: own },
    ingester: {
      lifecycler: {
        address: own,
        ring: { kvstore: { store: 'inmemory' }, replication_factor: 1 },
        final_sleep: '0s',
        min_ready_duration: '0s',
      },
    },
    schema_config: {
      configs: [
        {
          from: '2020-01-01',
          store: 'boltdb',
          object_store: 'filesystem',
          schema: 'v11',
          index: { prefix: 'index_', period: '168h' },
        },
      ],
    },
    storage_config: {
      boltdb: { directory: join(folder, 'index') },
      filesystem: { directory: join(folder, 'chunks') },
    },
  };
  const path = join(folder, 'loki.json');
  writeFileSync(path, JSON.stringify(settings));
  server = await startMetricServer(
    programs.loki,
    [`-config.file=${path}`],
    / http=(\S+) .*server listening on addresses/,
  );
  await vi.waitFor(async () => expect((await fetch(`${server.address}/ready`)).status).toBe(200), {
    timeout: 120_000,
  });
  const streams = [
    { stream: { app: 'web' }, values: linesOf(['error: one', 'error: two', 'well']) },
    { stream: { app: 'cart' }, values: linesOf(['error: three']) },
  ];
  const response = await fetch(`${server.address}/loki/api/v1/push`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ streams }),
  });
  expect(response.status).toBe(204);
});

/** One line each millisecond, the last one now; times in nanoseconds. */
function linesOf(lines: readonly string[]): string[][] {
  const nowMs = Date.now();
  return lines.map((line, index) => [`${nowMs - lines.length + 1 + index}000000`, line]);
}

afterAll(async () => {
  await http.close();
  await server.stop();
});

const read = (query: string) => readTemplate(http, { type: 'loki', address: server.address }, query);

describe('Loki', () => {
  test.each([
    [
      'lines that are counted',
      'sum(count_over_time({app="{{ target }}"} |= "error" [10m]))',
      { kind: 'value', value: 2 },
    ],
    [
      'a share',
      'sum(count_over_time({app=~".+"} |= "error" [10m])) / sum(count_over_time({app=~".+"}[10m]))',
      { kind: 'value', value: 0.75 },
    ],
    [
      'several streams',
      'count_over_time({app=~".+"}[10m])',
      { kind: 'error', detail: expect.stringContaining('2 series') },
    ],
    ['no stream', 'sum(rate({app="nobody"}[10m]))', { kind: 'noData' }],
    ['what is no LogQL', 'sum(', { kind: 'error', detail: expect.stringContaining('400') }],
  ])('is read for %s', async (_, query, reading) => {
    expect(await read(query)).toMatchObject(reading);
  });
});
