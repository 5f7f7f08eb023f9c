import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import type { HookType } from '../../api/canary/analysis.ts';
import type { Webhook } from '../../api/canary/canary.ts';
import type { CanaryPhase } from '../../api/canary/status.ts';
import { systemClock } from '../../api/clock.ts';
import type { HookAnswer } from '../../api/observed.ts';
import type { HookEvent } from '../../contracts/notifications.ts';
import { createHttpClient } from '../../http/client.ts';
import { startTestServer, type TestServer } from '../../http/testing/servers.ts';
import { createHooks } from './webhook.ts';

const cleanups: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(listener: RequestListener, isSecure = false): Promise<TestServer> {
  const server = await startTestServer(listener, isSecure);
  cleanups.push(() => server.close());
  return server;
}

/** Calls with waits that end immediately; the HTTP deadlines are real. */
async function call(
  url: string,
  more: Partial<Webhook> = {},
  {
    type = 'confirm-rollout',
    phase = 'Waiting',
    event,
  }: { type?: HookType; phase?: CanaryPhase; event?: HookEvent } = {},
  waits: number[] = [],
): Promise<HookAnswer> {
  const http = createHttpClient({ allowLoopback: true });
  cleanups.push(() => http.close());
  const clock = {
    ...systemClock,
    after(delayMs: number, callback: () => void) {
      waits.push(delayMs);
      return systemClock.after(0, callback);
    },
  };
  const webhook = { name: 'gate', url, timeout: '1s', ...more } as Webhook;
  const canary = { metadata: { name: 'web', namespace: 'shop' } };
  const facts = { phase, digest: 'v1:d', commit: 'c0ffee', canaryWeight: 20 };
  return createHooks({ http, clock }).call(
    { canary, webhook, type, facts, ...(event ? { event } : {}) },
    new AbortController().signal,
  );
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}

describe('what is sent', () => {
  async function received(more: Partial<Webhook>, options: Parameters<typeof call>[2] = {}) {
    let seen: { headers: IncomingMessage['headers']; method?: string; body: Record<string, unknown> };
    const server = await serve(async (request, response) => {
      seen = {
        headers: request.headers,
        ...(request.method ? { method: request.method } : {}),
        body: await bodyOf(request),
      };
      response.end();
    });
    await call(`${server.url}/gate`, more, options);
    return seen!;
  }

  test.each([
    ['confirm-rollout', 'Waiting'],
    ['pre-rollout', 'Progressing'],
    ['rollout', 'Progressing'],
    ['confirm-traffic-increase', 'Progressing'],
    ['confirm-promotion', 'Progressing'],
    ['rollback', 'WaitingPromotion'],
    ['post-rollout', 'Failed'],
  ] as const)("to %s has Flagger's phase", async (type, expected) => {
    const phase = type === 'confirm-rollout' || type === 'post-rollout' ? expected : 'WaitingPromotion';
    expect((await received({}, { type, phase })).body.phase).toBe(expected);
  });

  test('with timeout 0s is waited for, as Flagger has no limit then', async () => {
    const server = await serve((_, response) => void setTimeout(() => response.end(), 300));
    expect(await call(server.url, { timeout: '0s' })).toMatchObject({ verdict: 'approved' });
  });

  test("is Flagger's payload as JSON, with additional fields and no credentials", async () => {
    const { body, headers, method } = await received({ metadata: { cmd: 'hey' } });
    expect(method).toBe('POST');
    expect(headers['content-type']).toBe('application/json');
    expect(headers.authorization).toBeUndefined();
    expect(body).toEqual({
      name: 'web',
      namespace: 'shop',
      phase: 'Waiting',
      checksum: expect.stringMatching(/^[0-9a-f]{16}$/),
      metadata: { cmd: 'hey' },
      type: 'confirm-rollout',
      digest: 'v1:d',
      commit: 'c0ffee',
      canaryWeight: 20,
    });
  });

  test('has no metadata when there is none', async () => {
    expect((await received({})).body).not.toHaveProperty('metadata');
  });

  test('reports an event in the metadata, where the keys of the event take precedence', async () => {
    const event = { type: 'Warning' as const, reason: 'CheckFailed', message: 'rate 1 < 99', timeMs: 17 };
    const { body } = await received(
      { metadata: { eventMessage: 'mine', team: 'a' } },
      { type: 'event', event },
    );
    expect(body.metadata).toEqual({
      eventMessage: 'rate 1 < 99',
      eventType: 'Warning',
      eventReason: 'CheckFailed',
      timestamp: '17',
      team: 'a',
    });
  });
});

describe('what an answer means', () => {
  test.each([
    [200, 'approved'],
    [201, 'approved'],
    [202, 'approved'],
    [203, 'unreachable'],
    [204, 'unreachable'],
    [304, 'unreachable'],
    [400, 'refused'],
    [403, 'refused'],
    [404, 'refused'],
    [429, 'unreachable'],
    [500, 'refused'],
    [501, 'refused'],
    [502, 'unreachable'],
    [503, 'unreachable'],
    [504, 'unreachable'],
  ])('%i is %s', async (status, verdict) => {
    const server = await serve((_request, response) => void response.writeHead(status).end());
    expect(await call(server.url)).toMatchObject({ name: 'gate', verdict, status });
  });

  test('another success than 200 to 202 says what approves', async () => {
    const server = await serve((_request, response) => void response.writeHead(204).end());
    const { detail } = await call(server.url);
    expect(detail).toBe('answered 204; only 200, 201 and 202 approve');
  });

  test('a redirect is never followed and approves nothing', async () => {
    let reached = 0;
    const target = await serve((_request, response) => {
      reached += 1;
      response.end();
    });
    const server = await serve(
      (_request, response) => void response.writeHead(302, { location: target.url }).end(),
    );
    expect(await call(server.url)).toMatchObject({ verdict: 'unreachable' });
    expect(reached).toBe(0);
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ['silence', () => undefined],
    ['a body that never ends', (response) => void response.writeHead(200).write('a')],
    ['a broken connection', (response) => void response.socket?.destroy()],
    ['more bytes than the cap', (response) => void response.end(Buffer.alloc(1_100_000))],
    [
      'an encoding nobody knows',
      (response) => void response.writeHead(200, { 'content-encoding': 'x' }).end('y'),
    ],
  ])('%s approves nothing', async (_what, answer) => {
    const server = await serve((_request, response) => answer(response));
    expect(await call(server.url)).toMatchObject({ verdict: 'unreachable' });
  });

  test('a refused connection, or an invalid address, approves nothing', async () => {
    const server = await serve(() => undefined);
    await server.close();
    expect(await call(server.url)).toMatchObject({ verdict: 'unreachable' });
    expect(await call('http://169.254.169.254/latest')).toMatchObject({ verdict: 'unreachable' });
    expect(await call('gate')).toMatchObject({ verdict: 'unreachable' });
  });

  test('a refusal of tests that ran says which of them failed', async () => {
    const server = await serve((_request, response) => {
      const output = '1..2\nok 1 the home page answers\nnot ok 2 orders arrive\n';
      response.writeHead(500).end(`command bats /tests/acceptance.bats failed: ${output}: exit status 1`);
    });
    const { detail } = await call(server.url);
    expect(detail).toBe(
      'answered 500: command bats /tests/acceptance.bats failed: 1..2 ok 1 the home page answers not ok 2 orders arrive : exit status 1',
    );
  });

  test('a refusal quotes the beginning of the body, cut and cleaned', async () => {
    const server = await serve((_request, response) => {
      response.writeHead(403).end(`not \u001b[31mtoday${'x'.repeat(500)}\nsecret=1`);
    });
    const { detail } = await call(server.url);
    expect(detail).toMatch(/^answered 403: not .*today/);
    expect(detail).not.toContain('secret');
    expect(detail).not.toContain('\u001b');
    expect(detail.length).toBeLessThanOrEqual(200);
  });

  test('a refusal that quotes the request shows nothing of the query of the address', async () => {
    const server = await serve((request, response) => {
      const { url = '' } = request;
      response.writeHead(403).end(`no route ${url}, ${decodeURIComponent(url)}`);
    });
    const { detail } = await call(`${server.url}/gate?token=s3cret%2Fvalue&key=another+one`);
    expect(detail).toMatch(/^answered 403: no route \/gate…/);
    expect(detail).not.toMatch(/s3cret|another/);
  });

  test('a refusal that quotes a long token shows no beginning of it', async () => {
    const server = await serve((request, response) => {
      response.writeHead(403).end(`no route ${request.url}`);
    });
    const token = `eyJhbGciOi.${'c2VjcmV0'.repeat(200)}`;
    const tooLong = `eyJhbGciOi.${'c2VjcmV0'.repeat(600)}`;
    const { detail } = await call(`${server.url}/gate?token=${token}`);
    const { detail: cut } = await call(`${server.url}/gate?token=${tooLong}`);
    expect(detail).toBe('answered 403: no route /gate…');
    expect(cut).toBe('answered 403');
  });

  test('an error names neither the query of the address nor user info', async () => {
    const server = await serve((_request, response) => void response.socket?.destroy());
    const { detail } = await call(`${server.url}/?token=s3cret`);
    expect(detail).not.toContain('s3cret');
    expect((await call('http://bob:s3cret@gate.test/')).detail).not.toContain('s3cret');
  });
});

describe('retries', () => {
  function counting(...statuses: number[]) {
    const seen: number[] = [];
    const listener: RequestListener = (_request, response) => {
      const status = statuses[Math.min(seen.length, statuses.length - 1)] ?? 200;
      seen.push(status);
      response.writeHead(status).end();
    };
    return { seen, listener };
  }

  test('continue after a server error with growing waits until it answers', async () => {
    const { seen, listener } = counting(500, 503, 200);
    const server = await serve(listener);
    const waits: number[] = [];
    expect(await call(server.url, { retries: 3 }, {}, waits)).toMatchObject({ verdict: 'approved' });
    expect(seen).toEqual([500, 503, 200]);
    expect(waits).toEqual([1000, 2000]);
  });

  test('end with the last answer', async () => {
    const { seen, listener } = counting(500);
    const server = await serve(listener);
    expect(await call(server.url, { retries: 2 })).toMatchObject({ verdict: 'refused', status: 500 });
    expect(seen).toHaveLength(3);
  });

  test.each([403, 501, 200])('are not made after %i', async (status) => {
    const { seen, listener } = counting(status);
    const server = await serve(listener);
    await call(server.url, { retries: 3 });
    expect(seen).toEqual([status]);
  });
});

describe('TLS', () => {
  test('an untrusted certificate approves nothing, except with disableTLS', async () => {
    const server = await serve((_request, response) => void response.end(), true);
    expect(await call(server.url)).toMatchObject({ verdict: 'unreachable' });
    expect(await call(server.url, { disableTLS: true })).toMatchObject({ verdict: 'approved' });
  });
});
