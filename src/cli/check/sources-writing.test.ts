import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../api/clock.ts';
import type { Source } from '../../api/source/source.ts';
import { credentialsFromSecret } from '../../git/wire/credentials.ts';
import { createGitTransport } from '../../git/wire/open-transport.ts';
import { DEFAULT_TRANSPORT_LIMITS } from '../../git/wire/transport.ts';
import { createHttpClient } from '../../http/client.ts';
import { startTestServer, type TestServer } from '../../http/testing/servers.ts';
import { createGithubAppTokens } from '../../providers/forges/github-app.ts';
import { createOpenForge } from '../../providers/forges/open.ts';
import { checkWriting } from './sources-writing.ts';

const token = 'a-token-that-nobody-sees';
const http = createHttpClient({ allowLoopback: true });
let server: TestServer;
/** Answers by path, as a Gitea gives them to a good token. */
let answers: Record<string, { readonly status: number; readonly body: string }>;

beforeAll(async () => {
  server = await startTestServer((request, response) => {
    const path = request.url?.split('?')[0] ?? '';
    const { status, body } = answers[path] ?? { status: 404, body: '{"message": "not here"}' };
    const signedIn = request.headers.authorization?.includes(Buffer.from(`bot:${token}`).toString('base64'));
    const isOpen = path === '/api/v1/version';
    response.writeHead(signedIn || isOpen ? status : 401).end(signedIn || isOpen ? body : '');
  });
});
beforeEach(() => {
  const json = (value: unknown) => ({ status: 200, body: JSON.stringify(value) });
  const ref = `${'a'.repeat(40)} refs/heads/main\0 report-status delete-refs\n`;
  const line = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text;
  answers = {
    '/acme/shop.git/info/refs': {
      status: 200,
      body: `${line('# service=git-receive-pack\n')}0000${line(ref)}0000`,
    },
    '/api/v1/version': json({ version: '1.25.0' }),
    '/api/v1/repos/acme/shop': json({ permissions: { push: true } }),
    '/api/v1/repos/acme/shop/pulls': json([]),
  };
});
afterAll(async () => {
  await http.close();
  await server.close();
});

type Write = NonNullable<Source['spec']['write']>;
const everything: Write = { ledger: true, revert: 'pullRequest', status: true };

async function linesOf(
  write: Write,
  more: Readonly<Record<string, string>> = {},
  ref: Source['spec']['ref'] = { branch: 'main' },
) {
  const url = `${server.url}/acme/shop.git`;
  const given = Object.entries({ username: 'bot', password: token, ...more });
  const values = Object.fromEntries(given.map(([key, value]) => [key, Buffer.from(value)] as const));
  const source: Source = {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'delivery' },
    spec: { url, ref, write },
  };
  const transport = createGitTransport({
    client: http,
    url,
    credentials: credentialsFromSecret('delivery/shop', values),
    limits: DEFAULT_TRANSPORT_LIMITS,
    stats: { requests: 0, receivedBytes: 0 },
    address: { movedTo: undefined },
  });
  const open = createOpenForge({ http, clock: systemClock, tokens: createGithubAppTokens() });
  const lines = await checkWriting(source, {
    openForge: () => open(source, async () => ({ values, way: {} })),
    transport,
    values,
  });
  expect(JSON.stringify(lines)).not.toContain(token);
  return lines.map(({ state, subject, detail, actor }) => ({
    what: `${state} ${subject.replace('Source delivery/shop, ', '')}`,
    detail,
    actor,
  }));
}

const whatOf = (lines: ReadonlyArray<{ readonly what: string }>) => lines.map(({ what }) => what);

describe('what a Source wants to write', () => {
  it('is not asked about when it wants to write nothing', async () => {
    expect(await linesOf({})).toEqual([]);
    expect(await linesOf({ revert: 'none', ledger: false, status: false })).toEqual([]);
  });

  it('needs only what it asks for', async () => {
    expect(whatOf(await linesOf(everything))).toEqual(['ok push', 'ok forge']);
    expect(whatOf(await linesOf({ ledger: true }))).toEqual(['ok push']);
    expect(whatOf(await linesOf({ status: true }))).toEqual(['ok forge']);
  });

  it('fails for credentials that may not push, with who must act', async () => {
    answers['/acme/shop.git/info/refs'] = { status: 403, body: '' };
    const [push] = await linesOf(everything);
    expect(push).toMatchObject({ what: 'failed push', actor: 'administrator' });
    expect(push?.detail).toMatch(/may not push \(403\)/);
  });

  it('is asked of the forge also for a push alone, since it may know better than the Git server', async () => {
    answers['/api/v1/repos/acme/shop'] = { status: 200, body: '{"permissions": {"push": false}}' };
    expect(whatOf(await linesOf({ ledger: true }))).toEqual(['ok push', 'failed forge']);
    answers['/api/v1/repos/acme/shop'] = { status: 500, body: '' };
    expect(whatOf(await linesOf({ ledger: true }))).toEqual(['ok push']);
  });

  it('fails for a token that may only read, that lacks pull requests, or that is wrong', async () => {
    answers['/api/v1/repos/acme/shop'] = { status: 200, body: '{"permissions": {"push": false}}' };
    expect((await linesOf(everything))[1]).toMatchObject({
      what: 'failed forge',
      detail: 'gitea accepts the credentials, but they are read-only',
    });
    answers['/api/v1/repos/acme/shop'] = { status: 200, body: '{}' };
    expect((await linesOf(everything))[1]?.detail).toMatch(/does not report whether the user may write/);
    answers['/api/v1/repos/acme/shop/pulls'] = { status: 403, body: '{}' };
    expect(whatOf(await linesOf(everything))).toEqual(['ok push', 'failed forge']);
    expect(whatOf(await linesOf({ status: true }))).toEqual(['ok forge']);
    expect(whatOf(await linesOf(everything, { password: 'another' }))).toEqual([
      'failed push',
      'failed forge',
    ]);
  });

  it('fails without anything to sign in with at the forge', async () => {
    const [forge] = await linesOf({ status: true }, { password: '', username: '' });
    expect(forge).toMatchObject({ what: 'failed forge', actor: 'administrator' });
    expect(forge?.detail).toMatch(/has no credentials for gitea/);
  });

  it('on a host that is no forge fails for statuses, and warns that of a revert only the branch is pushed', async () => {
    answers['/api/v1/version'] = { status: 404, body: '' };
    expect(whatOf(await linesOf({ status: true }))).toEqual(['failed forge']);
    expect(whatOf(await linesOf({ revert: 'pullRequest' }))).toEqual(['ok push', 'warning forge']);
  });

  it('fails for a revert where there is no branch, and for a key that cannot sign', async () => {
    const [push] = await linesOf({ revert: 'commit' }, {}, { tag: 'v1' });
    expect(push).toMatchObject({ what: 'failed push', actor: 'author' });
    const lines = await linesOf({ ledger: true }, { signingKey: `no key ${token}` });
    expect(whatOf(lines)).toEqual(['ok push', 'failed signingKey']);
  });
});
