import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { resolve } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type AlertProvider,
  type AlertProviderSpec,
  alertProviderTypeSchema,
} from '../../api/alert-provider.ts';
import type { AlertAnswer } from '../../contracts/notifications.ts';
import { createHttpClient } from '../../http/client.ts';
import { startTestServer } from '../../http/testing/servers.ts';
import { noticeOf, reverted, succeeded } from './fixtures.test-support.ts';
import { sendAlert } from './send-alert.ts';
import { alertReceivers } from './table.ts';

interface Seen {
  readonly path: string;
  readonly method: string | undefined;
  readonly type: string | undefined;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

const cleanups: Array<() => Promise<void>> = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A receiver that answers with this and records its requests. */
async function receiver(status = 200, answer = 'ok'): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = await startTestServer(async (request, response) => {
    const { url = '', method, headers } = request;
    const body: unknown = JSON.parse(await textOf(request));
    seen.push({
      path: url,
      method,
      type: headers['content-type'],
      authorization: headers.authorization,
      body,
    });
    response.writeHead(status).end(answer);
  });
  cleanups.push(server.close);
  return { url: server.url, seen };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString();
}

function provider(spec: AlertProviderSpec): AlertProvider {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'AlertProvider',
    metadata: { name: 'chat', namespace: 'shop' },
    spec,
  };
}

async function send(
  spec: AlertProviderSpec,
  {
    incident = reverted,
    secret,
    cluster,
  }: { incident?: typeof reverted; secret?: Record<string, string>; cluster?: string } = {},
): Promise<AlertAnswer> {
  const http = createHttpClient({ allowLoopback: true });
  cleanups.push(() => http.close());
  return sendAlert(
    { ...noticeOf(incident), cluster },
    provider(spec),
    secret,
    http,
    new AbortController().signal,
  );
}

/** Compares with the golden file; UPDATE_GOLDEN=1 writes it. */
function expectGolden(name: string, value: unknown): void {
  const path = resolve(import.meta.dirname, 'testdata', `${name}.golden`);
  const text = `${JSON.stringify(value, undefined, 2)}\n`;
  if (process.env.UPDATE_GOLDEN) writeFileSync(path, text);
  expect(text).toBe(readFileSync(path, 'utf8'));
}

function teamsRefusal(status: number): string {
  return `Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error ${status} with ContextId tcid=0,server=x`;
}

test('there is a receiver for every type that the schema accepts', () => {
  expect(alertReceivers.map(({ type }) => type)).toEqual(alertProviderTypeSchema.options);
});

describe('payloads', () => {
  const paths: Record<string, string> = {
    slack: '/services/T/B/x',
    discord: '/api/webhooks/1/x?wait=true',
    'msteams-connector': '/webhookb2/x',
    'msteams-workflow': '/workflows/abc/triggers/manual/paths/invoke?sig=x',
  };
  const names = alertReceivers.flatMap(({ type }) =>
    type === 'msteams' ? ['msteams-connector', 'msteams-workflow'] : [type],
  );

  test.each(names)('%s gets the revert as its users read it', async (name) => {
    const { url, seen } = await receiver();
    const type = name.split('-')[0] as AlertProviderSpec['type'];
    const spec = { type, channel: 'on-call', username: 'deploys', address: `${url}${paths[name] ?? '/'}` };
    expect(await send(spec)).toEqual({ kind: 'sent' });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'POST', type: 'application/json' });
    expectGolden(name, { path: seen[0]?.path, body: seen[0]?.body });
  });

  test.each([
    ['discord', '[go]\u2060(http://x)', '\\[go\\]\u2060(http://x)', '<\u2060http://x|go>'],
    ['rocket', '[go]\u2060(http://x)', '\\[go\\]\u2060(http://x)', '<\u2060http://x|go>'],
    ['msteams', '\\[go\\](http://x)', '\\\\\\[go\\\\\\](http://x)', '<http://x|go>'],
  ] as const)('%s shows links of others as they are written', async (type, ...shown) => {
    const { url, seen } = await receiver();
    const message = '[go](http://x) \\[go\\](http://x) <http://x|go>';
    const incident = { ...reverted, message };
    await send({ type, address: `${url}/workflows/abc/triggers/manual` }, { incident });
    expect(JSON.stringify(seen[0]?.body)).toContain(JSON.stringify(shown.join(' ')).slice(1, -1));
  });

  test('channel and username have the defaults of Flagger', async () => {
    const { url, seen } = await receiver();
    await send({ type: 'slack', address: url });
    expect(seen[0]?.body).toMatchObject({ channel: 'general', username: 'flagger' });
  });

  test('success ends the alerts of a Canary in Alertmanager, and other information is not sent to it', async () => {
    const { url, seen } = await receiver();
    const alertmanager = { type: 'alertmanager' as const, address: `${url}/am` };
    await send(alertmanager, { incident: succeeded });
    await send(alertmanager, { incident: { ...succeeded, outcome: 'Started', reason: 'NewRevision' } });
    expect(seen).toHaveLength(1);
    expect(seen[0]?.path).toBe('/am/api/v2/alerts');
    expectGolden('alertmanager-succeeded', seen[0]?.body);
  });

  test('the success that only ends an earlier alert goes to Alertmanager alone', async () => {
    const { url, seen } = await receiver();
    const http = createHttpClient({ allowLoopback: true });
    cleanups.push(() => http.close());
    const { signal } = new AbortController();
    for (const { type } of alertReceivers) {
      const notice = { ...noticeOf(succeeded), endsOnly: true };
      const answer = await sendAlert(notice, provider({ type, address: url }), undefined, http, signal);
      expect(answer).toEqual({ kind: 'sent' });
    }
    expect(seen.map(({ path }) => path)).toEqual(['/api/v2/alerts']);
  });

  test('an alert that comes late fires in Alertmanager only if no release succeeded since', async () => {
    const { url, seen } = await receiver();
    const http = createHttpClient({ allowLoopback: true });
    cleanups.push(() => http.close());
    const { signal } = new AbortController();
    const late = (type: AlertProviderSpec['type'], later: Array<typeof reverted>) =>
      sendAlert({ ...noticeOf(reverted), later }, provider({ type, address: url }), undefined, http, signal);
    const started = { ...succeeded, outcome: 'Started' as const };
    expect(await late('alertmanager', [started, succeeded])).toEqual({ kind: 'sent' });
    expect(seen).toHaveLength(0);
    await late('alertmanager', [started, { ...succeeded, severity: 'warn' }]);
    await late('slack', [succeeded]);
    expect(seen).toHaveLength(2);
  });

  test('a success that comes late ends in Alertmanager only what nothing was reported of since', async () => {
    const { url, seen } = await receiver();
    const http = createHttpClient({ allowLoopback: true });
    cleanups.push(() => http.close());
    const { signal } = new AbortController();
    const late = (incident: typeof reverted, later: Array<typeof reverted>) => {
      const notice = { ...noticeOf(incident), later };
      const to = provider({ type: 'alertmanager', address: url });
      return sendAlert(notice, to, undefined, http, signal);
    };
    const warned = { ...reverted, severity: 'warn' as const };
    expect(await late(succeeded, [warned, reverted])).toEqual({ kind: 'sent' });
    expect(await late(reverted, [{ ...reverted, reason: 'ChecksFailed' }])).toEqual({ kind: 'sent' });
    expect(seen).toHaveLength(0);
    await late(succeeded, [reverted]);
    const [body] = seen.map(({ body }) => body as Array<{ labels: { severity: string } }>);
    expect(body?.map(({ labels }) => labels.severity)).toEqual(['warn']);
  });
});

test.each(['slack', 'msteams', 'gchat', 'webhook', 'alertmanager'] as const)(
  '%s names the cluster where it has a name, and not where it has none',
  async (type) => {
    const { url, seen } = await receiver();
    await send({ type, address: url });
    await send({ type, address: url }, { cluster: 'oslo-2' });
    const [without, named] = seen.map(({ body }) => JSON.stringify(body));
    expect(without).not.toContain('luster');
    expect(named).toContain('oslo-2');
  },
);

describe('addresses and tokens', () => {
  test('come from the Secret, which wins over the spec', async () => {
    const { url, seen } = await receiver();
    const secret = { address: `${url}/api/chat.postMessage\n`, token: 'xoxb-1' };
    await send({ type: 'slack', secretRef: { name: 'chat' } }, { secret });
    expect(seen[0]).toMatchObject({ path: '/api/chat.postMessage', authorization: 'Bearer xoxb-1' });
  });

  test('a token is sent only to receivers that use it', async () => {
    const { url, seen } = await receiver();
    await send({ type: 'gchat', secretRef: { name: 'chat' } }, { secret: { address: url, token: 'xoxb-1' } });
    expect(seen[0]?.authorization).toBeUndefined();
  });

  test.each([
    [undefined, 'Secret chat does not exist'],
    [{ token: 'x' }, 'Secret chat has no key address'],
  ])('a Secret %o says what is missing and is tried again', async (secret, message) => {
    const answer = await send({ type: 'slack', secretRef: { name: 'chat' } }, secret ? { secret } : {});
    expect(answer).toEqual({ kind: 'failed', detail: `AlertProvider shop/chat: ${message}`, final: false });
  });
});

describe('refusals', () => {
  test.each([
    [500, false],
    [503, false],
    [429, false],
    [400, true],
    [404, true],
  ])('status %i: trying again cannot help is %s', async (status, final) => {
    const { url } = await receiver(status, 'the token s3cr3t is wrong');
    const answer = await send({ type: 'webhook', address: `${url}/s3cr3t` });
    expect(answer).toEqual({ kind: 'failed', detail: `${new URL(url).host} answered ${status}`, final });
  });

  test('a limit says how long the receiver asks to wait', async () => {
    const server = await startTestServer((_, response) => {
      response.writeHead(429, { 'retry-after': '30' }).end();
    });
    cleanups.push(server.close);
    const answer = await send({ type: 'discord', address: server.url });
    expect(answer).toMatchObject({ kind: 'failed', final: false, retryAfterMs: 30_000 });
  });

  test.each([
    ['slack', '{"ok":false,"error":"ratelimited"}'],
    ['msteams', 'x'.repeat(70_000)],
  ] as const)(
    '%s, which may say more in its answer, is left alone as long as it asks: %s',
    async (type, body) => {
      const server = await startTestServer((_, response) => {
        response.writeHead(429, { 'retry-after': '30' }).write(body);
      });
      cleanups.push(server.close);
      const answer = await send({ type, address: server.url });
      expect(answer).toMatchObject({ kind: 'failed', final: false, retryAfterMs: 30_000 });
    },
  );

  test("Slack's API refuses with status 200", async () => {
    const { url } = await receiver(200, '{"ok":false,"error":"channel_not_found"}');
    const answer = await send({ type: 'slack', address: url });
    expect(answer).toMatchObject({ kind: 'failed', final: true });
    expect(JSON.stringify(answer)).toContain('channel_not_found');
  });

  test.each([
    ['slack', '{"ok":false,"error":"internal_error"}'],
    ['slack', '{"ok":false,"error":"ratelimited"}'],
    ['slack', '{"ok":false,"error":"service_unavailable"}'],
    ['msteams', teamsRefusal(429)],
    ['msteams', teamsRefusal(503)],
  ] as const)('%s, whose status of success is none, is asked again: %s', async (type, answer) => {
    const { url } = await receiver(200, answer);
    expect(await send({ type, address: url })).toMatchObject({ kind: 'failed', final: false });
  });

  test("a connector of Teams passes Teams' refusal on with status 200", async () => {
    const { url } = await receiver(200, teamsRefusal(403));
    const detail = `${new URL(url).host} refused the alert: Microsoft Teams answered 403`;
    expect(await send({ type: 'msteams', address: url })).toEqual({ kind: 'failed', detail, final: true });
  });

  test.each([
    ['msteams', '1'],
    ['slack', '{"ok":true,"message":{"text":"\\"ok\\": false"}}'],
  ] as const)('%s takes an alert with %s', async (type, answer) => {
    const { url } = await receiver(200, answer);
    expect(await send({ type, address: url })).toEqual({ kind: 'sent' });
  });

  test.each([
    ['https://user:s3cr3t@chat.example.com/x', 'the URL holds credentials'],
    ['chat.example.com/s3cr3t', 'the URL cannot be read'],
    ['http://169.254.169.254/s3cr3t', 'metadata address'],
  ])('the address %s is refused without showing it', async (address, message) => {
    const answer = await send({ type: 'slack', address });
    expect(answer).toMatchObject({ kind: 'failed', final: true });
    expect(JSON.stringify(answer)).toContain(message);
    expect(JSON.stringify(answer)).not.toContain('s3cr3t');
  });

  test.each(['discord', 'rocket', 'gchat', 'webhook', 'alertmanager'] as const)(
    '%s that takes an alert has it once, however its answer goes on',
    async (type) => {
      const server = await startTestServer((_, response) => {
        response.writeHead(200).write('x'.repeat(70_000));
      });
      cleanups.push(server.close);
      expect(await send({ type, address: server.url })).toEqual({ kind: 'sent' });
    },
  );

  test('a refused connection is retried', async () => {
    expect(await send({ type: 'slack', address: 'http://127.0.0.1:9/s3cr3t' })).toMatchObject({
      final: false,
    });
  });
});
