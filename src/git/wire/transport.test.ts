import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { GitSourceOptions } from '../poll/git-source.ts';
import { createGitFixture, type GitFixture } from '../testing/fixture.ts';

const signal = new AbortController().signal;
const credentials = () => ({ auth: { kind: 'basic', username: 'ada', password: 's3cret-word' } }) as const;
const AUTHORIZATION = `Basic ${Buffer.from('ada:s3cret-word').toString('base64')}`;

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

/** The same source works once the fault is over. */
async function recovers(options: Partial<GitSourceOptions> = {}): Promise<void> {
  fixture.server.fault = undefined;
  fixture.server.transform = undefined;
  const source = fixture.source({ credentials, ...options });
  expect((await source.poll(signal)).head.commit).toBe(commit);
  expect((await source.readFiles(commit, '')).files).toHaveLength(1);
}

function trickle(response: ServerResponse): void {
  const timer = setInterval(() => response.write('0'), 10);
  response.on('close', () => clearInterval(timer));
}

function isPackRequest(request: { method?: string | undefined; headers: Record<string, unknown> }): boolean {
  return request.method === 'POST' && !request.headers['git-protocol'];
}

function randomish(length: number): Buffer {
  let state = 1;
  const bytes = Buffer.alloc(length);
  for (let index = 0; index < length; index += 1) {
    state = (state * 48_271) % 2_147_483_647;
    bytes.writeUInt8(state & 0xff, index);
  }
  return bytes;
}

test('sends basic credentials with each request, without a challenge', async () => {
  await fixture.source({ credentials }).poll(signal);
  expect(fixture.server.requests.map(({ authorization }) => authorization)).toEqual([
    AUTHORIZATION,
    AUTHORIZATION,
    AUTHORIZATION,
  ]);
});

test('sends a bearer token, and reads credentials again for each operation', async () => {
  let token = 'first';
  const source = fixture.source({ credentials: () => ({ auth: { kind: 'bearer', token } }) });
  await source.poll(signal);
  token = 'second';
  await source.poll(signal);
  const seen = new Set(fixture.server.requests.map(({ authorization }) => authorization));
  expect([...seen]).toEqual(['Bearer first', 'Bearer second']);
});

test.each([
  [401, 'Unauthorized', 'operator'],
  [403, 'Unauthorized', 'operator'],
  [203, 'Unauthorized', 'operator'],
  [404, 'NotFound', 'author'],
  [500, 'Unreachable', 'nobody'],
  [503, 'Unreachable', 'nobody'],
])('status %i is %s, reported without credentials or the body of the answer', async (status, code, actor) => {
  fixture.server.fault = (_request, response) => {
    response.writeHead(status).end('ada:s3cret-word was wrong');
    return true;
  };
  const error = await failedPoll();
  expect(error).toMatchObject({ code, actor });
  expect(String(error)).toContain('127.0.0.1');
  expect(JSON.stringify(error) + String(error)).not.toContain('s3cret');
});

test.each([
  [429, '120', 120_000, 'answered 429 and asked for a pause of 120 s'],
  [503, '86400', 600_000, 'answered 503 and asked for a pause of 86400 s'],
  [503, undefined, undefined, 'answered 503'],
])(
  'status %i with Retry-After %s names the pause that the server asks for',
  async (status, asked, pauseMs, message) => {
    fixture.server.fault = (_request, response) => {
      response.writeHead(status, asked === undefined ? {} : { 'retry-after': asked }).end();
      return true;
    };
    expect(await failedPoll()).toMatchObject({
      code: 'Unreachable',
      message: expect.stringMatching(new RegExp(`${message}$`)),
      pauseMs,
    });
  },
);

test('a server that asks for credentials where none are sent is told with what the Secret needs', async () => {
  fixture.server.fault = (_request, response) => {
    response.writeHead(401).end();
    return true;
  };
  const message = async (more: object) =>
    String(
      await fixture
        .source(more)
        .poll(signal)
        .catch((error: unknown) => error),
    );
  expect(await message({})).toMatch(/asks for credentials \(401\), and none were sent; .* GitHub App .* SSH/);
  expect(await message({ credentials })).toContain('refused the credentials (401); check spec.secretRef');
});

test('a web page instead of Git is reported as a wrong URL', async () => {
  fixture.server.fault = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
    return true;
  };
  expect(await failedPoll()).toMatchObject({
    code: 'NotFound',
    message: expect.stringContaining('check spec.url'),
  });
});

test.each([
  ['an error packet', () => Buffer.from('0019ERR out of resources\n')],
  ['an answer cut between two packets', (body: Buffer) => body.subarray(0, body.length - 4)],
  ['an answer cut inside a packet', (body: Buffer) => body.subarray(0, body.length - 20)],
  ['an empty answer', () => Buffer.alloc(0)],
])('%s instead of the refs is Unreachable, not a missing branch', async (_name, transform) => {
  fixture.server.transform = (body, request) => (request.method === 'POST' ? transform(body) : body);
  expect(await failedPoll()).toMatchObject({ code: 'Unreachable' });
});

test('a page to sign in instead of the refs is no missing branch', async () => {
  fixture.server.fault = (request, response) => {
    if (request.method !== 'POST') return false;
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
    return true;
  };
  expect(await failedPoll()).toMatchObject({
    code: 'Unreachable',
    message: expect.stringContaining('did not answer in the Git protocol'),
  });
});

test.each([
  ['nothing', ''],
  ['only the line before it', '0008NAK\n'],
])('an answer with %s in place of a pack is Unreachable: the commit may be there', async (_, answer) => {
  fixture.server.transform = (body, request) => (isPackRequest(request) ? Buffer.from(answer) : body);
  expect(await failedPoll()).toMatchObject({ code: 'Unreachable' });
  await recovers();
});

test('a server that cannot be reached is Unreachable', async () => {
  await fixture.server.close();
  expect(await failedPoll()).toMatchObject({
    code: 'Unreachable',
    message: expect.stringContaining('the connection was refused'),
  });
});

test('a silent server is cut by the idle deadline', async () => {
  fixture.server.fault = () => true;
  const limits = { idleTimeoutMs: 50, totalTimeoutMs: 10_000 };
  expect(await failedPoll({ limits })).toMatchObject({
    code: 'Timeout',
    message: expect.stringContaining('no data'),
  });
  await recovers();
});

test('a trickle is cut by the total deadline', async () => {
  fixture.server.fault = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
    trickle(response);
    return true;
  };
  const limits = { idleTimeoutMs: 5_000, totalTimeoutMs: 200 };
  expect(await failedPoll({ limits })).toMatchObject({
    code: 'Timeout',
    message: expect.stringContaining('not finished'),
  });
});

test('a poll under way ends when it is aborted', async () => {
  const arrived = new Promise<void>((resolve) => {
    fixture.server.fault = () => {
      resolve();
      return true;
    };
  });
  const abort = new AbortController();
  const poll = fixture.source().poll(abort.signal);
  const outcome = expect(poll).rejects.toMatchObject({ code: 'Aborted' });
  await arrived;
  abort.abort();
  await outcome;
  await recovers();
});

test('a fetch that hangs ends when it is aborted, and the store stays usable', async () => {
  const abort = new AbortController();
  fixture.server.fault = (request, _response) => {
    const isFetch = request.method === 'POST' && !request.headers['git-protocol'];
    if (isFetch) setImmediate(() => abort.abort());
    return isFetch;
  };
  await expect(fixture.source().poll(abort.signal)).rejects.toMatchObject({ code: 'Aborted' });
  await recovers();
});

test('a pack that was cut leaves the store usable', async () => {
  fixture.server.transform = (body, request) =>
    isPackRequest(request) ? body.subarray(0, body.length - 60) : body;
  expect(await failedPoll()).toMatchObject({ code: 'Unreachable' });
  await recovers();
});

test('a pack with a flipped byte leaves the store usable', async () => {
  fixture.server.transform = (body, request) => {
    if (!isPackRequest(request)) return body;
    const damaged = Buffer.from(body);
    const middle = body.indexOf('PACK') + 40;
    damaged.writeUInt8(damaged.readUInt8(middle) ^ 0xff, middle);
    return damaged;
  };
  expect(await failedPoll()).toMatchObject({
    code: 'Unreachable',
    message: expect.stringContaining('damaged'),
  });
  await recovers();
});

test('a pack beyond the byte cap is refused while it streams', async () => {
  commit = fixture.repository.commit({ 'big.bin': randomish(3_000_000) });
  const source = fixture.source({ credentials, limits: { maxPackBytes: 500_000 } });
  await expect(source.poll(signal)).rejects.toMatchObject({ code: 'TooLarge', actor: 'author' });
  expect(source.stats.receivedBytes).toBeLessThan(600_000);
  await recovers();
});

test.each([
  ['the refs', (request: Parameters<typeof isPackRequest>[0]) => request.method === 'POST'],
  ['the pack', isPackRequest],
])('a server that repeats what it was sent in place of %s is reported without it', async (_, isMeant) => {
  const words = `ERR bad login: ada:s3cret-word (${AUTHORIZATION})\n`;
  const packet = Buffer.from(`${(words.length + 4).toString(16).padStart(4, '0')}${words}`);
  fixture.server.transform = (body, request) => (isMeant(request) ? packet : body);

  const error = (await failedPoll()) as Error;

  expect(error.message).toContain('bad login: ada:***');
  expect(error.message).not.toContain(AUTHORIZATION.split(' ')[1]);
});

test('an error of the server in the pack stream is reported with its message', async () => {
  fixture.server.transform = (body, request) =>
    isPackRequest(request) ? Buffer.from('001bERR repository is busy\n') : body;
  expect(await failedPoll()).toMatchObject({
    code: 'Unreachable',
    message: expect.stringContaining('is busy'),
  });
});

test.each([
  ['Git', (oid: string) => `upload-pack: not our ref ${oid}`],
  ['JGit', (oid: string) => `want ${oid} not valid`],
])('a commit that the server does not give out is NotFound in the words of %s', async (_, wordsFor) => {
  const line = `ERR ${wordsFor(commit)}\n`;
  fixture.server.transform = (body, request) =>
    isPackRequest(request) ? Buffer.from(`${(line.length + 4).toString(16).padStart(4, '0')}${line}`) : body;
  expect(await failedPoll()).toMatchObject({
    code: 'NotFound',
    message: expect.stringContaining(`does not serve commit ${commit} (it said: ${wordsFor(commit)})`),
  });
});
