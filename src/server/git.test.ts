import { createVerify, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../api/clock.ts';
import type { Source } from '../api/source/source.ts';
import { createGitFixture, type GitFixture } from '../git/testing/fixture.ts';
import { type GitServer, startGitServer } from '../git/testing/git-server.ts';
import { createTestRepository, type TestRepository } from '../git/testing/test-repository.ts';
import { createHttpClient } from '../http/client.ts';
import {
  startTestProxy,
  startTestServer,
  type TestProxy,
  type TestServer,
  testCertificate,
  testKey,
} from '../http/testing/servers.ts';
import { createRepositories } from './git.ts';
import { createGitAccess, type GitAccess } from './git-access.ts';
import { rememberFileSources } from './source-files.ts';

const nothing = async () => undefined;
const noSecrets = { credentials: nothing, signers: nothing, proxy: nothing };
const signal = new AbortController().signal;
let fixture: GitFixture;

beforeEach(async () => {
  fixture = await createGitFixture();
  fixture.repository.commit({ 'a.yaml': 'a: 1' });
});
afterEach(() => fixture.close());

function aSource(spec: Partial<Source['spec']> = {}): Source {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'delivery', labels: { 'holdfast.dev/from-file': 'true' } },
    spec: { url: fixture.url, ref: { branch: 'main' }, ...spec },
  };
}

/** Opens as a process does whose command line named `given`; its environment holds a token. */
function accessGiven(given: readonly Source[]): GitAccess {
  return createGitAccess({
    client: fixture.client,
    clock: systemClock,
    env: { HOLDFAST_GIT_TOKEN: 'from-the-environment' },
    fileSources: rememberFileSources(given),
  });
}

function opener(given: readonly Source[]) {
  return createRepositories({
    client: fixture.client,
    dataDir: fixture.dataDir,
    clock: systemClock,
    identity: { name: 'Holdfast', email: 'holdfast@example.com' },
    access: accessGiven(given),
  }).open;
}

async function authorizationsOf(
  given: readonly Source[],
  followed: Source,
): Promise<Set<string | undefined>> {
  await opener(given)(followed, noSecrets).poll(signal);
  return new Set(fixture.server.requests.map(({ authorization }) => authorization));
}

test('gives credentials of the environment to a Source of the command line', async () => {
  expect(await authorizationsOf([aSource()], aSource())).toEqual(new Set(['Bearer from-the-environment']));
});

test('gives them to no Source of the cluster, whatever its labels say', async () => {
  expect(await authorizationsOf([], aSource())).toEqual(new Set([undefined]));
});

test('gives them to no other repository after the address of the Source was changed in the cluster', async () => {
  const ours = aSource({ url: 'https://git.example.com/shop.git' });

  expect(await authorizationsOf([ours], aSource())).toEqual(new Set([undefined]));
});

test('gives them to no proxy that the Source was given in the cluster, but to that of its file', async () => {
  const seen: Array<string | undefined> = [];
  const proxy = createServer(({ headers }, response) => {
    seen.push(headers.authorization);
    response.writeHead(502).end();
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const address = Buffer.from(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  const secrets = { ...noSecrets, proxy: async () => ({ address }) };
  const proxied = aSource({ proxySecretRef: { name: 'proxy' } });

  for (const given of [aSource(), proxied])
    await expect(opener([given])(proxied, secrets).poll(signal)).rejects.toThrow('answered 502');

  expect(seen).toEqual([undefined, 'Bearer from-the-environment']);
  proxy.close();
});

test('gives them to the forge of a Source of the command line, and to that of no other', async () => {
  const seen: Array<string | undefined> = [];
  const forge = await startTestServer(({ url, headers }, response) => {
    const isVersion = url === '/api/v1/version';
    if (!isVersion) seen.push(headers.authorization);
    response.end(JSON.stringify(isVersion ? { version: '1.24' } : { permissions: { push: true } }));
  });
  const source = aSource({ url: `${forge.url}/acme/shop.git` });

  for (const given of [[source], []])
    await (await accessGiven(given).openForge(source, noSecrets))?.mayWrite();

  expect(seen).toEqual(['Bearer from-the-environment', undefined]);
  await forge.close();
});

test("ends a request to a Git server that trickles at the Source's timeout", async () => {
  fixture.server.fault = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
    const drip = setInterval(() => response.write('0'), 20);
    response.on('close', () => clearInterval(drip));
    return true;
  };
  const repository = opener([])(aSource({ timeout: '300ms' }), noSecrets);

  await expect(repository.poll(signal)).rejects.toMatchObject({ code: 'Timeout' });
});

const neverAborted = new AbortController().signal;
const client = createHttpClient({ allowLoopback: true });
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const app = { githubAppID: '42', githubAppInstallationID: '7', githubAppPrivateKey: pem };

let root: string;
let repository: TestRepository;
/** Over HTTP, over TLS, and over TLS for those with a certificate. */
let plain: GitServer;
let secure: GitServer;
let mutual: GitServer;
let head: string;
let stores = 0;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-access-'));
  repository = createTestRepository(root, 'shop');
  head = repository.commit({ 'a.yaml': 'a: 1' });
  [plain, secure, mutual] = await Promise.all([
    startGitServer(root),
    startGitServer(root, true),
    startGitServer(root, true, testCertificate),
  ]);
});
afterAll(async () => {
  await client.close();
  await Promise.all([plain.close(), secure.close(), mutual.close()]);
  rmSync(root, { recursive: true });
});

type Values = Readonly<Record<string, string>>;

function secretOf(values: Values | undefined) {
  const bytes = Object.entries(values ?? {}).map(([key, value]) => [key, Buffer.from(value)] as const);
  return async () => values && Object.fromEntries(bytes);
}

function accessAt(clock: { nowMs(): number } = systemClock): GitAccess {
  return createGitAccess({ client, clock, env: {}, fileSources: rememberFileSources([]) });
}

/** Polls with these Secrets, in a separate store. */
async function pollWith(
  server: GitServer,
  given: { readonly credentials?: Values; readonly proxy?: Values },
  access = accessAt(),
) {
  stores += 1;
  const source: Source = {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'delivery' },
    spec: {
      url: `${server.url}/shop.git`,
      ref: { branch: 'main' },
      ...(given.credentials ? { secretRef: { name: 'shop-git' } } : {}),
      ...(given.proxy ? { proxySecretRef: { name: 'way-out' } } : {}),
    },
  };
  const { open } = createRepositories({
    access,
    client,
    clock: systemClock,
    dataDir: join(root, `data-${stores}`),
    identity: { name: 'Holdfast', email: 'holdfast@example.com' },
  });
  const opened = open(source, {
    credentials: secretOf(given.credentials),
    signers: secretOf(undefined),
    proxy: secretOf(given.proxy),
  });
  const polled = await opened.poll(neverAborted);
  return polled.head.commit;
}

describe('a GitHub App', () => {
  /** As much of GitHub as signs Apps in: it verifies the signature and the times of each JWT. */
  let github: TestServer;
  let asked: string[];
  let nowMs: number;
  const clock = { nowMs: () => nowMs };

  beforeAll(async () => {
    github = await startTestServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      const json = (status: number, value: unknown) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
      if (!isSignedBy42(request.headers.authorization))
        return json(401, { message: 'A JSON web token could not be decoded' });
      if (request.url === '/api/v3/users/ada/installation') return json(200, { id: 7 });
      if (request.url !== '/api/v3/app/installations/7/access_tokens' || request.method !== 'POST')
        return json(404, { message: 'Not Found' });
      const token = `ghs_${asked.length}`;
      return json(201, { token, expires_at: new Date(nowMs + 3_600_000).toISOString() });
    });
  });
  beforeEach(() => {
    asked = [];
    nowMs = Date.parse('2026-11-01T10:00:00Z');
    plain.requests.length = 0;
    // Git accepts the newest token only.
    plain.fault = (request, response) => {
      const password = `x-access-token:ghs_${asked.length}`;
      if (request.headers.authorization === `Basic ${Buffer.from(password).toString('base64')}`) return false;
      response.writeHead(401).end();
      return true;
    };
  });
  afterAll(async () => {
    plain.fault = undefined;
    await github.close();
  });

  function isSignedBy42(authorization = ''): boolean {
    const [header = '', claims = '', signature = ''] = authorization.replace(/^Bearer /, '').split('.');
    const { iss, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString() || '{}');
    const isNow = iat * 1000 <= nowMs && exp * 1000 > nowMs && exp - iat <= 600;
    const verifier = createVerify('RSA-SHA256').update(`${header}.${claims}`);
    return iss === '42' && isNow && verifier.verify(publicKey, signature, 'base64url');
  }

  const enterprise = () => ({ ...app, githubAppBaseURL: `${github.url}/api/v3/` });

  test('reads Git with a token of its installation, which is cached until shortly before its expiry', async () => {
    const access = accessAt(clock);

    expect(await pollWith(plain, { credentials: enterprise() }, access)).toBe(head);
    expect(await pollWith(plain, { credentials: enterprise() }, access)).toBe(head);
    expect(asked).toEqual(['POST /api/v3/app/installations/7/access_tokens']);

    nowMs += 3_400_000;
    expect(await pollWith(plain, { credentials: enterprise() }, access)).toBe(head);
    expect(asked).toHaveLength(2);
  });

  test('is found by whose installation it is, as Flux allows', async () => {
    const { githubAppInstallationID: _, ...rest } = enterprise();
    const credentials = { ...rest, githubAppInstallationOwner: 'ada' };

    expect(await pollWith(plain, { credentials }, accessAt(clock))).toBe(head);
    expect(asked.slice(0, 2)).toEqual([
      'GET /api/v3/orgs/ada/installation',
      'GET /api/v3/users/ada/installation',
    ]);
  });

  test('requests another token when the server refuses the cached one', async () => {
    const access = accessAt(clock);
    await pollWith(plain, { credentials: enterprise() }, access);
    const letIn = plain.fault;
    plain.fault = (_request, response) => {
      response.writeHead(401).end();
      return true;
    };
    await expect(pollWith(plain, { credentials: enterprise() }, access)).rejects.toMatchObject({
      code: 'Unauthorized',
    });
    plain.fault = letIn;

    expect(await pollWith(plain, { credentials: enterprise() }, access)).toBe(head);
    expect(asked).toHaveLength(2);
  });

  test('leaves Git to a password that the Secret holds as well', async () => {
    plain.fault = undefined;
    const credentials = { ...enterprise(), username: 'bot', password: 'pw' };

    expect(await pollWith(plain, { credentials }, accessAt(clock))).toBe(head);
    expect(asked).toEqual([]);
    expect(plain.requests[0]?.authorization).toMatch(/^Basic /);
  });

  const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  test.each([
    [
      'a key that is none',
      { githubAppPrivateKey: 'hunter2' },
      'githubAppPrivateKey is not an RSA private key',
    ],
    ['half an App', { githubAppID: '' }, 'a GitHub App needs githubAppID'],
    ['an invalid address', { githubAppBaseURL: 'ftp://x' }, 'githubAppBaseURL must be the URL'],
    [
      'a key of another App',
      { githubAppPrivateKey: other.export({ type: 'pkcs1', format: 'pem' }).toString() },
      'sign in as GitHub App: HTTP 401, A JSON web token could not be decoded',
    ],
    ['an App that is not installed', { githubAppInstallationID: '8' }, 'sign in as GitHub App: HTTP 404'],
  ])('with %s names the Secret and the key, not the value', async (_, change, message) => {
    const polled = pollWith(plain, { credentials: { ...enterprise(), ...change } }, accessAt(clock));

    await expect(polled).rejects.toMatchObject({ code: 'Unauthorized' });
    await expect(polled).rejects.toThrow(/^Secret delivery\/shop-git: /);
    await expect(polled).rejects.toThrow(message);
    await expect(polled).rejects.not.toThrow(/hunter2|BEGIN/);
  });
});

describe('a client certificate', () => {
  const own = { 'ca.crt': testCertificate, 'tls.crt': testCertificate, 'tls.key': testKey };

  test('lets into a server that demands one', async () => {
    expect(await pollWith(mutual, { credentials: own })).toBe(head);
  });

  test("is read under Flux's former names as well", async () => {
    const credentials = { caFile: testCertificate, certFile: testCertificate, keyFile: testKey };
    expect(await pollWith(mutual, { credentials })).toBe(head);
  });

  test('is hinted at when the Secret has none, and the connection of another Source is not used', async () => {
    await pollWith(mutual, { credentials: own });
    const polled = pollWith(mutual, { credentials: { 'ca.crt': testCertificate } });
    // The server chooses how the connection ends: with an alert, or without.
    await expect(polled).rejects.toThrow(/client certificate/);
  });
});

describe('a proxy', () => {
  let proxy: TestProxy;
  const trusted = { 'ca.crt': testCertificate };

  beforeAll(async () => {
    proxy = await startTestProxy('me:p@ss/word');
  });
  beforeEach(() => {
    proxy.asked.length = 0;
  });
  afterAll(() => proxy.close());

  const settings = (more: Values = {}) => ({
    address: `http://${proxy.address}\n`,
    username: 'me',
    password: 'p@ss/word\n',
    ...more,
  });
  const sent = `Basic ${Buffer.from('me:p@ss/word').toString('base64')}`;

  test('carries all of Git by CONNECT, and the certificate is still checked', async () => {
    expect(await pollWith(secure, { credentials: trusted, proxy: settings() })).toBe(head);
    expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT ${new URL(secure.url).host} ${sent}`]));
    await expect(pollWith(secure, { proxy: settings() })).rejects.toThrow(/certificate is not trusted/);
  });

  test('goes together with a client certificate', async () => {
    const credentials = { ...trusted, 'tls.crt': testCertificate, 'tls.key': testKey };
    expect(await pollWith(mutual, { credentials, proxy: settings() })).toBe(head);
  });

  test('is used for the forge, too', async () => {
    const source: Source = {
      apiVersion: 'holdfast.dev/v1alpha1',
      kind: 'Source',
      metadata: { name: 'shop', namespace: 'delivery' },
      spec: { url: `${secure.url}/acme/shop.git`, ref: { branch: 'main' } },
    };
    // A separate proxy: connections through the other one are still open.
    const other = await startTestProxy();
    const proxySettings = secretOf({ address: `http://${other.address}` });
    const secrets = { credentials: secretOf(trusted), proxy: proxySettings };
    expect(await accessAt().openForge(source, secrets)).toBeUndefined();
    expect(new Set(other.asked)).toEqual(new Set([`CONNECT ${new URL(secure.url).host}`]));
    await other.close();
  });

  test('that refuses its credentials is distinguished from the Git server', async () => {
    const wrong = { credentials: trusted, proxy: settings({ password: 'hunter2' }) };
    for (const server of [secure, plain]) {
      const polled = pollWith(server, wrong);
      await expect(polled).rejects.toMatchObject({ code: 'Unauthorized' });
      await expect(polled).rejects.toThrow(/the proxy requires valid credentials \(407\)/);
      await expect(polled).rejects.not.toThrow(/hunter2/);
    }
  });

  test.each([
    ['no address', { address: '' }, 'has no key address'],
    [
      'a SOCKS proxy',
      { address: 'socks5://u:hunter2@proxy:1080' },
      'address is a socks5: proxy; only HTTP and HTTPS',
    ],
    ['an invalid address', { address: 'proxy hunter2' }, 'address must be http(s)://host:port'],
    ['a password alone', { username: '' }, 'holds a password without a username'],
  ])('with %s names Secret and key, not the value', async (_, change, message) => {
    const polled = pollWith(plain, { proxy: settings(change) });
    await expect(polled).rejects.toMatchObject({ code: 'Unauthorized' });
    await expect(polled).rejects.toThrow(`Secret delivery/way-out of spec.proxySecretRef: ${message}`);
    await expect(polled).rejects.not.toThrow(/hunter2/);
  });

  test('obeys the address rules, as does an address that is asked for through it', async () => {
    const polled = pollWith(plain, { proxy: { address: 'http://169.254.169.254' } });
    await expect(polled).rejects.toMatchObject({ code: 'Refused' });
    const metadata = { ...plain, url: 'http://169.254.169.254' };
    await expect(pollWith(metadata, { proxy: settings() })).rejects.toMatchObject({ code: 'Refused' });
    expect(proxy.asked).toEqual([]);
  });

  test('of the environment is not used: a Source configures its own proxy', async () => {
    const address = `http://${proxy.address}`;
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY'])
      vi.stubEnv(name, address);
    const inSuchAPlace = createHttpClient({ allowLoopback: true });
    const { status } = await inSuchAPlace.send({ url: `${plain.url}/shop.git/HEAD` });
    vi.unstubAllEnvs();
    await inSuchAPlace.close();

    expect(status).toBe(200);
    expect(proxy.asked).toEqual([]);
  });
});
