import { request as httpRequest, type IncomingMessage } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../api/clock.ts';
import { eventually } from '../../cluster/testing/manual-clock.ts';
import type { WatchedSet } from '../../contracts/cluster.ts';
import { startHttpServer } from '../http/http-server.ts';
import { createKeyAccess, type DashboardAccess } from './access.ts';
import { createDashboard } from './dashboard.ts';

const nothing: WatchedSet = {
  synced: () => true,
  problem: () => undefined,
  isRefused: () => false,
  get: () => undefined,
  list: () => [],
  byKey: () => [],
  remember: () => undefined,
  refresh: async () => true,
  onChange: () => undefined,
  close: () => undefined,
};

function routes(access = createKeyAccess('key', 'you')) {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  return createDashboard({
    access,
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
  return (await answerTo(path, headers))?.status ?? 0;
}

async function answerTo(url: string, headers: Record<string, string>) {
  const route = routes().find((one) => one.path === url.split('?')[0]);
  const request = { headers, url, async *[Symbol.asyncIterator]() {} } as unknown as IncomingMessage;
  return route?.handle(request, '');
}

test.each(['/api/session', '/api/stream', '/api/requests'])(
  'requests without the header of the page are refused: %s',
  async (path) => {
    expect(await ask(path, { 'x-holdfast-token': 'key' })).toBe(403);
    expect(await ask(path, { 'x-holdfast-page': '1' })).toBe(401);
    expect(await ask(path, { 'x-holdfast-page': '1', 'x-holdfast-token': 'other' })).toBe(401);
  },
);

test.each(['/api/session', '/api/stream?view=fleet'])(
  'says which version answers, so that a page that was open during an upgrade can tell: %s',
  async (url) => {
    const answer = await answerTo(url, { 'x-holdfast-page': '1', 'x-holdfast-token': 'key' });
    expect(answer).toMatchObject({ status: 200, headers: { 'x-holdfast-version': '1' } });
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

/** The status of the session's answer; undefined: there was none yet. */
function askFrom(url: string, token: string, localAddress = '127.0.0.1') {
  const asked: { status?: number | undefined } = {};
  const headers = { 'x-holdfast-page': '1', 'x-holdfast-token': token };
  const sent = httpRequest(`${url}/api/session`, { headers, localAddress, agent: false }, (answer) => {
    asked.status = answer.statusCode;
    answer.resume();
  });
  sent.on('error', () => undefined).end();
  return asked;
}

test('tokens that strangers make up take no place of people, nor all places of those who log in elsewhere', async () => {
  const own = createKeyAccess('key', 'you');
  let waiting = 0;
  /** The API server takes its time with tokens that were not seen before. */
  const access: DashboardAccess = {
    ...own,
    async identify(headers, purpose) {
      const person = await own.identify(headers, purpose);
      if (person) return person;
      waiting += 1;
      return new Promise(() => undefined);
    },
  };
  const bounds = { perAddress: 512 };
  const server = await startHttpServer(
    { host: '127.0.0.1', port: 0 },
    routes(access),
    () => undefined,
    bounds,
  );
  onTestFinished(() => server.close());

  const strangers = Array.from({ length: 70 }, (_, made) => askFrom(server.url, `made-up-${made}`));
  const refused = () => strangers.filter(({ status }) => status === 503).length;
  await eventually(() => waiting + refused() === 70, 'all strangers were taken or refused');
  const person = askFrom(server.url, 'key');
  await eventually(() => person.status !== undefined, 'the person was answered');
  const before = waiting;
  if (process.platform === 'linux') askFrom(server.url, 'login', '127.0.0.2');

  expect(person.status).toBe(200);
  if (process.platform === 'linux') await eventually(() => waiting > before, 'another address was taken');
});
