import { createVerify, generateKeyPairSync } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import type { Source } from '../../api/source/source.ts';
import { createHttpClient } from '../../http/client.ts';
import { largeRsaKey } from '../../http/testing/large-key.ts';
import { startTestServer, type TestServer } from '../../http/testing/servers.ts';
import { bitbucket } from './bitbucket.ts';
import { gitea } from './gitea.ts';
import { github } from './github.ts';
import { appJwt, createGithubAppTokens } from './github-app.ts';
import { gitlab } from './gitlab.ts';
import { createOpenForge } from './open.ts';
import { credentialsOf, forgeValuesOf } from './secret.ts';

const http = createHttpClient({ allowLoopback: true });
let nowMs = Date.parse('2026-01-01T00:00:00Z');
const clock = { nowMs: () => nowMs };

afterAll(() => http.close());

/** The requests to a server, and its answers by path. */
async function serverWith(
  answers: Readonly<Record<string, { status: number; json: unknown; headers?: Record<string, string> }>>,
): Promise<TestServer & { readonly asked: string[] }> {
  const asked: string[] = [];
  const server = await startTestServer((request, response) => {
    const path = request.url?.split('?')[0] ?? '';
    asked.push(`${request.method} ${path} ${request.headers.authorization ?? '-'}`);
    const found = answers[path] ?? { status: 404, json: { message: 'Not Found' } };
    response.writeHead(found.status, { 'content-type': 'application/json', ...found.headers });
    response.end(JSON.stringify(found.json));
  });
  return { ...server, asked };
}

function sourceAt(url: string): Source {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'delivery' },
    spec: { url, ref: { branch: 'main' } },
  };
}

function secretOf(values: Readonly<Record<string, string>>) {
  const bytes = Object.entries(values).map(([key, value]) => [key, Buffer.from(value)] as const);
  return async () => ({ values: Object.fromEntries(bytes), way: {} });
}

describe('which forge serves a repository', () => {
  it.each([
    ['https://github.com/acme/shop.git', 'github'],
    ['https://gitlab.com/acme/platform/shop', 'gitlab'],
    ['https://bitbucket.org/acme/shop/', 'bitbucket'],
    ['https://codeberg.org/acme/shop', 'gitea'],
    ['git@github.com:acme/shop.git', 'github'],
    ['ssh://git@altssh.gitlab.com:443/acme/shop.git', 'gitlab'],
  ])('%s is %s, without a question', async (url, kind) => {
    const forge = await createOpenForge({ http, clock, tokens: createGithubAppTokens() })(
      sourceAt(url),
      secretOf({ forgeToken: 'token' }),
    );
    expect(forge?.kind).toBe(kind);
  });

  it.each(['git@github.com:acme/shop.git', 'ssh://git@127.0.0.1:1/acme/shop.git'])(
    '%s has none without a token: a passphrase is none, and nothing is asked',
    async (url) => {
      const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
      const values = { identity: 'a key', username: 'git', password: 'passphrase' };
      expect(await open(sourceAt(url), secretOf(values))).toBeUndefined();
    },
  );

  it.each([
    'https://github.com/acme',
    'https://github.com/acme/sh%20op',
    'https://github.com/acme/shop%2F..%2Fother',
  ])('%s is no repository of a forge', async (url) => {
    const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
    expect(await open(sourceAt(url), secretOf({ forgeToken: 'token' }))).toBeUndefined();
  });

  it('the passphrase of an SSH key goes to no forge', async () => {
    const values = { forgeToken: Buffer.from('t'), username: Buffer.from('u'), password: Buffer.from('p') };
    const keys = (url: string) => Object.keys(forgeValuesOf(sourceAt(url), values));
    expect(keys('git@github.com:acme/shop.git')).toEqual(['forgeToken']);
    expect(keys('https://github.com/acme/shop.git')).toEqual(['forgeToken', 'username', 'password']);
  });

  it.each([
    ['gitea', '/api/v1/version', { status: 200, json: { version: '1.26.0' } }],
    ['gitlab', '/api/v4/version', { status: 401, json: {}, headers: { 'x-gitlab-meta': '{}' } }],
    ['github', '/api/v3/meta', { status: 200, json: {}, headers: { 'x-github-request-id': 'A:B' } }],
  ])('recognises %s by %s, without showing the token, and asks once', async (kind, path, answer) => {
    const server = await serverWith({ [path]: answer });
    const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
    const secret = secretOf({ bearerToken: 's3cr3t' });
    expect((await open(sourceAt(`${server.url}/acme/shop.git`), secret))?.kind).toBe(kind);
    const asked = server.asked.length;
    expect((await open(sourceAt(`${server.url}/acme/shop.git`), secret))?.kind).toBe(kind);
    expect(server.asked.length).toBe(asked);
    expect(server.asked.join()).not.toContain('s3cr3t');
    await server.close();
  });

  it('is detected separately for each namespace: the proxy of one could claim anything about the host', async () => {
    const answers: Record<string, { status: number; json: unknown; headers?: Record<string, string> }> = {
      '/api/v1/version': { status: 200, json: { version: '1.26.0' } },
    };
    const server = await serverWith(answers);
    const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
    const source = sourceAt(`${server.url}/acme/shop.git`);
    const other = { ...source, metadata: { ...source.metadata, namespace: 'other' } };
    expect((await open(other, secretOf({})))?.kind).toBe('gitea');

    answers['/api/v1/version'] = { status: 404, json: {} };
    answers['/api/v4/version'] = { status: 401, json: {}, headers: { 'x-gitlab-meta': '{}' } };

    expect((await open(source, secretOf({})))?.kind).toBe('gitlab');
    await server.close();
  });

  it('is undefined when no answer is that of a forge', async () => {
    const server = await serverWith({ '/api/v1/version': { status: 200, json: ['1.26.0'] } });
    const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
    expect(await open(sourceAt(`${server.url}/acme/shop.git`), secretOf({}))).toBeUndefined();
    expect(await open(sourceAt(`${server.url}/shop.git`), secretOf({}))).toBeUndefined();
    await server.close();
  });

  it('asks again after an outage', async () => {
    const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
    const source = sourceAt('http://127.0.0.1:1/acme/shop.git');
    await expect(open(source, secretOf({}))).rejects.toMatchObject({ code: 'Unavailable' });
    await expect(open(source, secretOf({}))).rejects.toThrow(/which forge 127\.0\.0\.1:1 is/);
  });

  it.each([429, 500, 503])('asks again after an answer %i of a forge that is starting', async (status) => {
    const answers: Record<string, { status: number; json: unknown }> = {
      '/api/v1/version': { status, json: {} },
    };
    const server = await serverWith(answers);
    const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
    const source = sourceAt(`${server.url}/acme/shop.git`);

    await expect(open(source, secretOf({}))).rejects.toMatchObject({ code: 'Unavailable' });
    answers['/api/v1/version'] = { status: 200, json: { version: '1.26.0' } };
    expect((await open(source, secretOf({})))?.kind).toBe('gitea');
    await server.close();
  });

  it('asks again after five minutes when nothing answered as a forge, and keeps a forge that it knew', async () => {
    const answers: Record<string, { status: number; json: unknown }> = {};
    const server = await serverWith(answers);
    const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
    const source = sourceAt(`${server.url}/acme/shop.git`);
    const kindAfter = async (waitMs: number, version: { status: number; json: unknown }) => {
      nowMs += waitMs;
      answers['/api/v1/version'] = version;
      return (await open(source, secretOf({})))?.kind;
    };
    const none = { status: 404, json: {} };
    const gitea = { status: 200, json: { version: '1.26.0' } };

    expect(await kindAfter(0, none)).toBeUndefined();
    expect(await kindAfter(299_000, gitea)).toBeUndefined();
    expect(await kindAfter(1_000, gitea)).toBe('gitea');
    expect(await kindAfter(3_600_000, none)).toBe('gitea');
    await server.close();
  });

  it.each([[{}], [{ forge: 'gitlab' }]])(
    'finds GitLab below a path of its host too, with %j in the Secret',
    async (named) => {
      const rights = { permissions: { project_access: { access_level: 40 } } };
      const server = await serverWith({
        '/gitlab/api/v4/version': { status: 401, json: {}, headers: { 'x-gitlab-meta': '{}' } },
        '/gitlab/api/v4/projects/acme%2Fshop': { status: 200, json: rights },
      });
      const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
      const secret = secretOf({ forgeToken: 's3cr3t', ...named });

      const forge = await open(sourceAt(`${server.url}/gitlab/acme/shop.git`), secret);

      expect(await forge?.mayWrite()).toBe(true);
      await server.close();
    },
  );

  it('with groups, GitLab whose version page is not public is at the root of its host', async () => {
    const rights = { permissions: { project_access: { access_level: 40 } } };
    const server = await serverWith({
      '/api/v4/projects/acme%2Fplatform%2Fshop': { status: 200, json: rights },
    });
    const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
    const secret = secretOf({ forgeToken: 's3cr3t', forge: 'gitlab' });

    const forge = await open(sourceAt(`${server.url}/acme/platform/shop.git`), secret);

    expect(await forge?.mayWrite()).toBe(true);
    await server.close();
  });

  it('is the one that the Secret names', async () => {
    const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
    const source = sourceAt('https://git.example.com/acme/shop.git');
    expect((await open(source, secretOf({ forge: 'Forgejo\n' })))?.kind).toBe('gitea');
    const unknown = open(source, secretOf({ forge: 'gogs' }));
    await expect(unknown).rejects.toThrow(/is gogs; must be one of bitbucket, forgejo, gitea, github/);
  });
});

describe('a forge whose limit is used up', () => {
  it('is respected until it ends by all that use the same credentials, and by no others', async () => {
    const path = '/api/v1/repos/acme/shop';
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(nowMs / 1000 + 600) };
    const answers: Parameters<typeof serverWith>[0] = {
      [path]: { status: 403, json: { message: 'API rate limit exceeded' }, headers },
    };
    const server = await serverWith(answers);
    const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
    const rights = async (forgeToken: string) => {
      const forge = await open(
        sourceAt(`${server.url}/acme/shop.git`),
        secretOf({ forge: 'gitea', forgeToken }),
      );
      return forge?.mayWrite();
    };

    await expect(rights('one')).rejects.toMatchObject({ retryAfterMs: 600_000 });
    nowMs += 60_000;
    await expect(rights('one')).rejects.toMatchObject({ code: 'Unavailable', retryAfterMs: 540_000 });
    const told = await rights('one').catch(String);
    nowMs += 60_000;
    // The same words, so that no status is written for them again and again.
    expect(await rights('one').catch(String)).toBe(told);
    expect(told).toContain(new Date(nowMs + 480_000).toISOString());
    nowMs -= 60_000;
    expect(server.asked).toHaveLength(1);
    await expect(rights('another')).rejects.toMatchObject({ code: 'Unavailable' });
    expect(server.asked).toHaveLength(2);
    nowMs += 540_000;
    await expect(rights('one')).rejects.toMatchObject({ code: 'Unavailable' });
    expect(server.asked).toHaveLength(3);
    nowMs -= 7_200_000;
    await expect(rights('one')).rejects.toThrow(/HTTP 403/);
    await server.close();
  });
});

describe('where the API of a repository is', () => {
  const at = (url: string) => [new URL(url), new URL(url).pathname.slice(1)] as const;

  it('knows GitHub and GitHub Enterprise', () => {
    expect(github.place(...at('https://github.com/acme/shop'))).toEqual({
      api: 'https://api.github.com',
      repository: 'acme/shop',
    });
    expect(github.place(...at('https://ghe.example.com:8443/acme/shop')).api).toBe(
      'https://ghe.example.com:8443/api/v3',
    );
    expect(github.place(...at('https://acme.ghe.com/acme/shop')).api).toBe('https://api.acme.ghe.com');
  });

  it('preserves the groups of GitLab and the path of Gitea', () => {
    expect(gitlab.place(...at('https://gitlab.com/acme/platform/shop'))).toEqual({
      api: 'https://gitlab.com/api/v4',
      repository: 'acme/platform/shop',
    });
    expect(gitea.place(...at('https://example.com/gitea/acme/shop'))).toEqual({
      api: 'https://example.com/gitea/api/v1',
      repository: 'acme/shop',
    });
  });

  it('knows Bitbucket Cloud', () => {
    expect(bitbucket.place(...at('https://bitbucket.org/acme/shop')).api).toBe(
      'https://api.bitbucket.org/2.0',
    );
  });
});

describe('signing in', () => {
  const values = (given: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(given).map(([key, value]) => [key, Buffer.from(value)]));

  it('prefers a token for the forge alone', () => {
    const given = { forgeToken: 'api\n', bearerToken: 'git', username: 'bot', password: 'p' };
    expect(credentialsOf(values(given))).toEqual({ kind: 'token', token: 'api' });
  });

  it('takes what Git takes', () => {
    expect(credentialsOf(values({ password: 'p' }))).toEqual({
      kind: 'password',
      username: 'git',
      password: 'p',
    });
    expect(credentialsOf({})).toEqual({ kind: 'none' });
  });

  it('refuses half a GitHub App and values that would break a header', () => {
    expect(() => credentialsOf(values({ githubAppID: '1' }))).toThrow(/one of them is missing/);
    const app = { githubAppID: '1', githubAppInstallationID: '../2', githubAppPrivateKey: 'k' };
    expect(() => credentialsOf(values(app))).toThrow(/must be a number/);
    expect(() => credentialsOf(values({ bearerToken: 'a\r\nb' }))).toThrow(/bearerToken contains a control/);
  });

  it('gives a token to GitHub and GitLab as bearer, to Gitea as it came', () => {
    const password = { kind: 'password', username: 'bot', password: 'p' } as const;
    expect(github.auth(password)).toEqual({ kind: 'bearer', token: 'p' });
    expect(gitlab.auth(password)).toEqual({ kind: 'bearer', token: 'p' });
    expect(gitea.auth(password)).toEqual({ kind: 'basic', username: 'bot', password: 'p' });
    expect(bitbucket.auth(password)).toEqual({ kind: 'basic', username: 'bot', password: 'p' });
    expect(bitbucket.auth({ ...password, username: 'x-token-auth' })).toEqual({ kind: 'bearer', token: 'p' });
  });
});

describe('a GitHub App', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  const app = { kind: 'githubApp', appId: '42', installation: { id: '7' }, privateKey: pem } as const;

  it('proves who it is by a JWT that GitHub can verify', () => {
    const [header = '', claims = '', signature = ''] = appJwt(app, nowMs).split('.');
    const verifier = createVerify('RSA-SHA256').update(`${header}.${claims}`);
    expect(verifier.verify(publicKey, signature, 'base64url')).toBe(true);
    const { iat, exp, iss } = JSON.parse(Buffer.from(claims, 'base64url').toString());
    expect(iss).toBe('42');
    expect(exp - nowMs / 1000).toBeLessThan(600);
    expect(iat).toBeLessThan(nowMs / 1000);
  });

  it('signs in once and renews the token before its end', async () => {
    const token = () => ({ token: 'ghs_1', expires_at: new Date(nowMs + 3_600_000).toISOString() });
    const server = await serverWith({
      '/app/installations/7/access_tokens': { status: 201, json: token() },
    });
    const connection = {
      http,
      api: server.url,
      headers: {},
      way: {},
      where: 'github, acme/shop',
      nowMs: () => nowMs,
    };
    const tokens = createGithubAppTokens();
    expect(await tokens.of(app, connection)).toBe('ghs_1');
    expect(await tokens.of(app, connection)).toBe('ghs_1');
    expect(server.asked).toHaveLength(1);
    nowMs += 3_400_000;
    await tokens.of(app, connection);
    expect(server.asked).toHaveLength(2);
    expect(server.asked[0]).toMatch(/^POST .* Bearer ey/);
    await server.close();
  });

  it('signs in once for many Sources that are read at a time, and not on the way of another', async () => {
    const token = { token: 'ghs_1', expires_at: new Date(nowMs + 3_600_000).toISOString() };
    const answers = { '/app/installations/7/access_tokens': { status: 201, json: token } };
    const server = await serverWith(answers);
    const connection = { http, api: server.url, headers: {}, way: {}, where: 'github', nowMs: () => nowMs };
    const deadProxy = { ...connection, way: { proxy: 'http://127.0.0.1:9' } };
    const tokens = createGithubAppTokens();

    const behindDeadProxy = tokens.of(app, deadProxy).catch(() => 'none');
    const given = await Promise.all(Array.from({ length: 50 }, () => tokens.of(app, connection)));

    expect(new Set(given)).toEqual(new Set(['ghs_1']));
    expect(server.asked).toHaveLength(1);
    expect(await behindDeadProxy).toBe('none');
    await server.close();
  });

  it('reports an invalid key, without quoting it', async () => {
    const tokens = createGithubAppTokens();
    const connection = {
      http,
      api: 'http://127.0.0.1:1',
      headers: {},
      way: {},
      where: 'github',
      nowMs: () => nowMs,
    };
    const signedIn = tokens.of({ ...app, privateKey: 'hunter2' }, connection);
    await expect(signedIn).rejects.toThrow('githubAppPrivateKey is not an RSA private key in PEM format');
    const large = tokens.of({ ...app, privateKey: largeRsaKey(16_384) }, connection);
    await expect(large).rejects.toThrow('githubAppPrivateKey is a key of 16384 bits');
  });

  it.each([
    [401, 'Bad credentials', 'Unauthorized'],
    // A token has the rights that the App had when it was made.
    [403, 'Resource not accessible by integration', 'Forbidden'],
  ])('signs in again at its forge after its token was refused (%i)', async (status, message, code) => {
    const answers: Record<string, { status: number; json: unknown }> = {};
    const server = await serverWith(answers);
    const grant = (token: string) => {
      const expires = new Date(nowMs + 3_600_000).toISOString();
      answers['/app/installations/7/access_tokens'] = { status: 201, json: { token, expires_at: expires } };
    };
    const secret = secretOf({
      forge: 'github',
      githubAppID: '42',
      githubAppInstallationID: '7',
      githubAppPrivateKey: pem,
      githubAppBaseURL: server.url,
    });
    const open = createOpenForge({ http, clock, tokens: createGithubAppTokens() });
    const mayWrite = async () => (await open(sourceAt(`${server.url}/acme/shop`), secret))?.mayWrite();
    grant('ghs_revoked');
    answers['/repos/acme/shop'] = { status, json: { message } };
    await expect(mayWrite()).rejects.toMatchObject({ code });

    grant('ghs_fresh');
    answers['/repos/acme/shop'] = { status: 200, json: { permissions: { push: true } } };

    expect(await mayWrite()).toBe(true);
    expect(server.asked.at(-1)).toBe('GET /repos/acme/shop Bearer ghs_fresh');
    await server.close();
  });

  it('cannot sign in at another forge', async () => {
    const secret = secretOf({ githubAppID: '1', githubAppInstallationID: '2', githubAppPrivateKey: pem });
    const opened = createOpenForge({ http, clock, tokens: createGithubAppTokens() })(
      sourceAt('https://gitlab.com/acme/shop'),
      secret,
    );
    await expect(opened).rejects.toThrow(/GitHub App cannot be used with gitlab/);
  });
});
