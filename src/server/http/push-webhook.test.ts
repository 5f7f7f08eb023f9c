import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { startHttpServer } from './http-server.ts';
import { type PushTarget, pushRoute, verifyPushWebhook } from './push-webhook.ts';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const secret = Buffer.from('a-long-webhook-secret');
const body = Buffer.from('{"ref":"refs/heads/main"}');
const hmac = createHmac('sha256', secret).update(body).digest('hex');

const valid = [
  ['github', { 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${hmac}` }],
  ['gitlab', { 'x-gitlab-token': secret.toString() }],
  ['gitea', { 'x-gitea-signature': hmac, 'x-hub-signature-256': `sha256=${hmac}` }],
  ['gitea', { 'x-forgejo-signature': hmac }],
  ['bitbucket', { 'x-event-key': 'repo:push', 'x-hub-signature': `sha256=${hmac}` }],
  ['generic', { 'x-signature': hmac.toUpperCase() }],
  ['generic', { 'x-signature': `sha256=${hmac}` }],
  ['generic', { 'x-hub-signature-256': `sha256=${hmac}` }],
] as const;

test.each(valid)('accepts a delivery of %s: %o', (provider, headers) => {
  expect(verifyPushWebhook({ headers, body }, secret)).toMatchObject({ accepted: true, provider });
});

test.each(valid)('refuses a delivery of %s with another secret: %o', (_provider, headers) => {
  expect(verifyPushWebhook({ headers, body }, Buffer.from('other')).accepted).toBe(false);
});

test('refuses a signature that belongs to another body', () => {
  const headers = { 'x-hub-signature-256': `sha256=${hmac}` };
  expect(verifyPushWebhook({ headers, body: Buffer.from('{}') }, secret).accepted).toBe(false);
});

test.each([
  ['no header', {}],
  ['an empty token', { 'x-gitlab-token': '' }],
  ['a short signature', { 'x-signature': 'abcd' }],
  ['text that is no hexadecimal', { 'x-signature': 'z'.repeat(64) }],
  ['a signature without its prefix', { 'x-hub-signature-256': hmac }],
  ['a header sent twice', { 'x-signature': [hmac, hmac] }],
  ['the old SHA-1 signature', { 'x-hub-signature': 'sha1=0123456789012345678901234567890123456789' }],
])('refuses %s', (_name, headers) => {
  expect(verifyPushWebhook({ headers, body }, secret).accepted).toBe(false);
});

test('refuses everything while the Source has no secret', () => {
  const empty = createHmac('sha256', '').update(body).digest('hex');
  expect(verifyPushWebhook({ headers: { 'x-signature': empty }, body }, Buffer.alloc(0))).toMatchObject({
    accepted: false,
    reason: 'the Source has no webhookSecret',
  });
});

test('never shows the secret in the reason', () => {
  const verdict = verifyPushWebhook({ headers: { 'x-gitlab-token': 'wrong' }, body }, secret);
  expect(JSON.stringify(verdict)).not.toContain(secret.toString());
});

describe('deliveries', () => {
  const source: KubernetesObject = {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { namespace: 'shop', name: 'web' },
    spec: { secretRef: { name: 'hook' } },
  };
  const signed = (key: Uint8Array) => ({
    'x-signature': createHmac('sha256', key).update(body).digest('hex'),
  });

  /** What push webhooks reach, with one Source and its Secret. */
  async function serve(more: Partial<PushTarget> = {}) {
    const world = { secret: secret as Uint8Array | undefined, nowMs: 0, reads: 0, woken: 0 };
    const target: PushTarget = {
      isFollowing: () => true,
      sourceOf: (_namespace, name) => (name === 'web' ? source : undefined),
      async readSecret() {
        world.reads += 1;
        return world.secret;
      },
      wake() {
        world.woken += 1;
        return true;
      },
      log: () => undefined,
      nowMs: () => world.nowMs,
      ...more,
    };
    const server = await startHttpServer(
      { host: '127.0.0.1', port: 0 },
      [pushRoute(target)],
      () => undefined,
    );
    cleanups.push(() => server.close());
    const post = (path: string, headers: Record<string, string> = signed(secret), sent = body) =>
      fetch(`${server.url}/hooks/${path}`, { method: 'POST', body: sent, headers });
    return { world, post };
  }

  test('of any number of Sources cost one read of a Secret in a minute, and a wrong one at most every 5 s another', async () => {
    const { world, post } = await serve();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post('shop/web')));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 202));
    expect(world).toMatchObject({ reads: 1, woken: 20 });
    for (const nowMs of [1_000, 2_000, 6_000, 7_000, 10_000, 12_000]) {
      world.nowMs = nowMs;
      expect((await post('shop/web', signed(Buffer.from('wrong')))).status).toBe(401);
    }
    expect(world.reads).toBe(3);
  });

  test('with a wrong signature are in the log once a minute, however many they are, and accepted ones each time', async () => {
    const lines: string[] = [];
    const { world, post } = await serve({ log: (_fields, message) => void lines.push(message) });
    const wrong = async () => {
      for (let count = 0; count < 20; count += 1) await post('shop/web', signed(Buffer.from('wrong')));
    };
    await wrong();
    await post('shop/web');
    await post('shop/web');
    world.nowMs = 60_000;
    await wrong();
    const refusal = "push webhook: x-signature does not fit the Source's webhookSecret";
    const accepted = 'push webhook: the signature is valid';
    expect(lines).toEqual([refusal, accepted, accepted, refusal]);
  });

  test('with a changed secret are accepted, and with a removed one not after a minute', async () => {
    const { world, post } = await serve();
    expect((await post('shop/web')).status).toBe(202);
    world.secret = Buffer.from('newer');
    world.nowMs = 5_000;
    expect((await post('shop/web', signed(world.secret))).status).toBe(202);
    expect((await post('shop/web')).status).toBe(401);
    world.secret = undefined;
    world.nowMs = 66_000;
    expect((await post('shop/web', signed(Buffer.from('newer')))).status).toBe(401);
  });

  test.each(['\n', '\r\n'])(
    'are verified without the line end that echo adds to a secret: %j',
    async (end) => {
      const { world, post } = await serve();
      world.secret = Buffer.concat([secret, Buffer.from(end)]);
      expect((await post('shop/web')).status).toBe(202);
      expect((await post('shop/web', { 'x-gitlab-token': secret.toString() })).status).toBe(202);
      world.secret = Buffer.from(end);
      world.nowMs = 60_000;
      expect((await post('shop/web', signed(Buffer.alloc(0)))).status).toBe(401);
    },
  );

  test('of an unknown Source get the answer of a wrong signature, without a read', async () => {
    const { world, post } = await serve();
    const unknown = await post('shop/other');
    expect(world.reads).toBe(0);
    const wrong = await post('shop/web', signed(Buffer.from('wrong')));
    const headersOf = ({ headers }: Response) => [...headers].filter(([name]) => name !== 'date');
    expect([unknown.status, await unknown.text(), headersOf(unknown)]).toEqual([
      wrong.status,
      await wrong.text(),
      headersOf(wrong),
    ]);
  });

  test('beyond the cap are refused, whoever signed them', async () => {
    const { world, post } = await serve();
    const large = Buffer.alloc(limits.httpRequestBytes + 1);
    expect((await post('shop/web', { 'x-gitlab-token': secret.toString() }, large)).status).toBe(413);
    expect(world.woken).toBe(0);
  });

  test('that cannot be verified now are answered with Retry-After', async () => {
    const { post } = await serve({ readSecret: () => Promise.reject(new Error('too many requests')) });
    const answer = await post('shop/web');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
  });
});
