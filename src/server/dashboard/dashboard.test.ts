import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { systemClock } from '../../api/clock.ts';
import type { WatchedSet } from '../../contracts/cluster.ts';
import { createKeyAccess } from './access.ts';
import { createDashboard } from './dashboard.ts';

const nothing: WatchedSet = {
  synced: () => true,
  problem: () => undefined,
  isRefused: () => false,
  get: () => undefined,
  list: () => [],
  remember: () => undefined,
  refresh: async () => true,
  onChange: () => undefined,
  close: () => undefined,
};

function routes() {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  return createDashboard({
    access: createKeyAccess('key', 'you'),
    canaries: () => nothing,
    openWatch: () => nothing,
    namespaces: [],
    isLeader: () => true,
    problem: () => undefined,
    contact: () => undefined,
    writer: undefined,
    kindOf: async () => undefined,
    events: { emit: () => undefined },
    log,
    clock: systemClock,
    version: '1',
    clusterName: 'test',
    documentation: undefined,
  }).routes;
}

async function ask(path: string, headers: Record<string, string>): Promise<number> {
  const route = routes().find((one) => one.path === path);
  const request = { headers, url: path, async *[Symbol.asyncIterator]() {} } as unknown as IncomingMessage;
  return (await route?.handle(request, ''))?.status ?? 0;
}

test.each(['/api/session', '/api/stream', '/api/requests'])(
  'requests without the header of the page are refused: %s',
  async (path) => {
    expect(await ask(path, { 'x-holdfast-token': 'key' })).toBe(403);
    expect(await ask(path, { 'x-holdfast-page': '1' })).toBe(401);
    expect(await ask(path, { 'x-holdfast-page': '1', 'x-holdfast-token': 'other' })).toBe(401);
  },
);

test('the page runs only its own scripts, and sends requests only to its own server', async () => {
  const page = await routes()[0]?.handle({} as IncomingMessage, '');
  const policy = String(page?.headers?.['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("connect-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
});
