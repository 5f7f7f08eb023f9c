import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createHttpClient } from '../../http/client.ts';
import { testCertificate } from '../../http/testing/servers.ts';
import type { GitSourceOptions } from '../poll/git-source.ts';
import { createGitFixture, type GitFixture } from '../testing/fixture.ts';
import { type GitServer, startGitServer } from '../testing/git-server.ts';
import { credentialsFromSecret } from './credentials.ts';

const signal = new AbortController().signal;
const credentials = () => ({ auth: { kind: 'basic', username: 'ada', password: 's3cret-word' } }) as const;

let fixture: GitFixture;
let commit: string;

beforeEach(async () => {
  fixture = await createGitFixture();
  commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });
});
afterEach(() => fixture.close());

/** The error of a first poll. */
async function failedPoll(options: Partial<GitSourceOptions> = {}): Promise<unknown> {
  return fixture
    .source({ credentials, ...options })
    .poll(signal)
    .catch((error: unknown) => error);
}

async function withOtherServer(work: (other: GitServer) => Promise<void>): Promise<void> {
  const other = await startGitServer(fixture.dataDir);
  try {
    await work(other);
  } finally {
    await other.close();
  }
}

function redirectTo(location: string) {
  return (_request: unknown, response: ServerResponse) => {
    response.writeHead(302, { location }).end();
    return true;
  };
}
test('a redirect to another port of the same host is an error and gets no credentials', async () => {
  await withOtherServer(async (other) => {
    fixture.server.fault = redirectTo(`${other.url}/shop.git/info/refs?service=git-upload-pack`);
    expect(await failedPoll()).toMatchObject({
      code: 'Redirected',
      message: expect.stringContaining(`${other.url}/shop.git`),
    });
    expect(other.requests).toEqual([]);
  });
});

test.each([
  'http://localhost:1/shop.git/info/refs?service=git-upload-pack',
  'https://127.0.0.1/shop.git/info/refs?service=git-upload-pack',
  'http://user:word@127.0.0.1/shop.git/info/refs?service=git-upload-pack',
  '/login',
  'file:///etc/passwd',
])('a redirect to %s is an error', async (location) => {
  fixture.server.fault = redirectTo(location);
  const error = await failedPoll();
  expect(error).toMatchObject({ code: 'Redirected' });
  expect(String(error)).not.toContain('word@');
  expect(fixture.server.requests).toHaveLength(1);
});

test.each(['https://login.example.com/signin?return=x', '/users/sign_in'])(
  'a redirect to a page such as %s is not named as an address to set',
  async (location) => {
    fixture.server.fault = redirectTo(location);
    const { message } = (await failedPoll()) as Error;
    expect(message).toContain(
      'may be a page to sign in; check spec.url and the credentials in spec.secretRef',
    );
    expect(message).not.toContain('set spec.url to it');
  },
);

test('a redirect inside the origin moves the base URL for all requests of the operation', async () => {
  fixture.server.fault = (request, response) => {
    if (request.url?.startsWith('/old/')) {
      response.writeHead(301, { location: request.url.replace('/old/', '/') }).end();
      return true;
    }
    return false;
  };
  const options = { url: `${fixture.server.url}/old/shop.git`, credentials };
  expect((await fixture.source(options).poll(signal)).head.commit).toBe(commit);

  const paths = fixture.server.requests.map(({ method, url }) => `${method} ${url?.split('?')[0]}`);
  expect(paths).toEqual([
    'GET /old/shop.git/info/refs',
    'GET /shop.git/info/refs',
    'POST /shop.git/git-upload-pack',
    'POST /shop.git/git-upload-pack',
  ]);
  const fixed = fixture.source({ ...options, namespace: 'fixed', reference: { commit } });
  expect((await fixed.poll(signal)).head.commit).toBe(commit);
});

test('a server that moved the repository is still pushed to after it was down for a moment', async () => {
  fixture.repository.bare('config', 'http.receivepack', 'true');
  const moved = (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.startsWith('/old/')) return false;
    response.writeHead(301, { location: request.url.replace('/old/', '/') }).end();
    return true;
  };
  fixture.server.fault = moved;
  const source = fixture.source({ url: `${fixture.server.url}/old/shop.git`, credentials });
  await source.poll(signal);
  fixture.server.fault = (_request, response) => {
    response.writeHead(503).end();
    return true;
  };
  await expect(source.poll(signal)).rejects.toMatchObject({ code: 'Unreachable' });
  fixture.server.fault = moved;

  await source.moveRef({ ref: 'refs/holdfast/lkg', before: undefined, after: commit }, signal);

  expect(fixture.repository.bare('rev-parse', 'refs/holdfast/lkg')).toBe(commit);
});

test('a redirect of the pack request to another host is an error', async () => {
  fixture.server.fault = (request, response) => {
    if (request.method === 'POST')
      response.writeHead(307, { location: 'http://localhost:1/git-upload-pack' }).end();
    return request.method === 'POST';
  };
  expect(await failedPoll()).toMatchObject({ code: 'Redirected' });
});

test('an https server is trusted by the authority of the Secret only', async () => {
  const secure = await startGitServer(dirname(fixture.dataDir), true);
  const url = `${secure.url}/shop.git`;
  const trusting = () => credentialsFromSecret('shop-git', { 'ca.crt': Buffer.from(testCertificate) });
  try {
    expect(await failedPoll({ url })).toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('certificate is not trusted'),
    });
    expect((await fixture.source({ url, credentials: trusting }).poll(signal)).head.commit).toBe(commit);
  } finally {
    await secure.close();
  }
});

test('endless redirects end', async () => {
  fixture.server.fault = (request, response) => {
    response.writeHead(302, { location: `/again${request.url}` }).end();
    return true;
  };
  expect(await failedPoll()).toMatchObject({ code: 'Redirected' });
  expect(fixture.server.requests.length).toBeLessThan(6);
});

test('a Git server on a link-local or, unless allowed, loopback address is refused', async () => {
  const guarded = createHttpClient();
  expect(await failedPoll({ client: guarded })).toMatchObject({ code: 'Refused' });
  expect(await failedPoll({ url: 'http://169.254.169.254/shop.git' })).toMatchObject({ code: 'Refused' });
  await guarded.close();
});

test.each([
  ['https://ada:s3cret-word@git.example.com/shop.git', 'move them to the Secret'],
  ['ssh://git:s3cret-word@git.example.com/shop.git', 'holds a password'],
  ['/srv/git/shop.git', 'not supported'],
  ['file:///srv/git/shop.git', 'not supported'],
  ['https://git.example.com/shop.git?token=s3cret-word', 'query'],
])('the URL %s is refused without showing secrets', (url, message) => {
  let error: unknown;
  try {
    fixture.source({ url });
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toMatchObject({ code: 'Refused', message: expect.stringContaining(message) });
  expect(String(error)).not.toContain('s3cret');
});
