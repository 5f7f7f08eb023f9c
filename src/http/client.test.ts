import type { RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../cluster/testing/manual-clock.ts';
import type { Resolver } from './address-guard.ts';
import { createHttpClient, forTenant, type HttpClientOptions } from './client.ts';
import { largeRsaKey } from './testing/large-key.ts';
import { startTestServer, type TestServer, testCertificate } from './testing/servers.ts';
import type { HttpClient, HttpRequest } from './types.ts';

const cleanups: Array<() => Promise<void>> = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(listener: RequestListener, isSecure = false): Promise<TestServer> {
  const server = await startTestServer(listener, isSecure);
  cleanups.push(() => server.close());
  return server;
}

function newClient(options: HttpClientOptions = {}): HttpClient {
  const client = createHttpClient({ allowLoopback: true, ...options });
  cleanups.push(() => client.close());
  return client;
}

async function failure(client: HttpClient, request: HttpRequest): Promise<unknown> {
  return client.send(request).catch((error: unknown) => error);
}

test('sends and reads JSON with credentials', async () => {
  const server = await serve((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const seen = {
        auth: request.headers.authorization,
        body: Buffer.concat(chunks).toString(),
        type: request.headers['content-type'],
      };
      response.writeHead(201, { 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify(seen)));
    });
  });
  const answer = await newClient().send({
    url: server.url,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"a":1}',
    auth: { kind: 'basic', username: 'ada', password: 'w\u00f6rd' },
  });
  expect(answer.status).toBe(201);
  expect(JSON.parse(Buffer.from(answer.body).toString())).toEqual({
    auth: `Basic ${Buffer.from('ada:w\u00f6rd').toString('base64')}`,
    body: '{"a":1}',
    type: 'application/json',
  });
});

test('a redirect is an error that names the target without its query', async () => {
  const server = await serve((_request, response) =>
    response.writeHead(302, { location: 'http://169.254.169.254/latest?key=word' }).end(),
  );
  const error = await failure(newClient(), { url: server.url });
  expect(error).toMatchObject({ code: 'Redirected' });
  expect(String(error)).toContain('to http://169.254.169.254; not followed');
});

test('a caller may read a redirect', async () => {
  const server = await serve((_request, response) => response.writeHead(302, { location: '/next' }).end());
  const answer = await newClient().send({ url: server.url, redirect: 'return' });
  expect([answer.status, answer.headers.location]).toEqual([302, '/next']);
});

test('a body beyond the cap is cut', async () => {
  const server = await serve((_request, response) => response.end(Buffer.alloc(200_000)));
  expect(await failure(newClient(), { url: server.url, limits: { maxBytes: 100_000 } })).toMatchObject({
    code: 'TooLarge',
  });
});

test('a gzip bomb counts at its full size', async () => {
  const bomb = gzipSync(Buffer.alloc(20_000_000));
  const server = await serve((_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
  );
  expect(await failure(newClient(), { url: server.url })).toMatchObject({ code: 'TooLarge' });
});

test.each([
  ['gzip', Buffer.from('no gzip at all')],
  ['zstd', Buffer.from('whatever')],
])('a body that cannot be unpacked as %s is an error', async (encoding, body) => {
  const server = await serve((_request, response) =>
    response.writeHead(200, { 'content-encoding': encoding }).end(body),
  );
  expect(await failure(newClient(), { url: server.url })).toMatchObject({ name: 'HttpError' });
});

test('a server that never answers is cut by the idle deadline', async () => {
  const server = await serve(() => {});
  const error = await failure(newClient(), { url: server.url, limits: { idleTimeoutMs: 50 } });
  expect(error).toMatchObject({
    code: 'Timeout',
    message: expect.stringMatching(/^GET 127.0.0.1:\d+: no data for 0.05 s$/),
  });
});

test('a server that stops in the middle of its body is cut by the idle deadline', async () => {
  const server = await serve((_request, response) => response.write('half'));
  expect(await failure(newClient(), { url: server.url, limits: { idleTimeoutMs: 50 } })).toMatchObject({
    code: 'Timeout',
  });
});

test('a trickle is cut by the total deadline', async () => {
  const server = await serve((_request, response) => {
    const timer = setInterval(() => response.write('.'), 5);
    response.on('close', () => clearInterval(timer));
  });
  const limits = { idleTimeoutMs: 5_000, totalTimeoutMs: 100 };
  expect(await failure(newClient(), { url: server.url, limits })).toMatchObject({
    code: 'Timeout',
    message: expect.stringContaining('not finished within 0.1 s'),
  });
});

test('a connection that is cut in the body is an error', async () => {
  const server = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half', () => response.destroy());
  });
  expect(await failure(newClient(), { url: server.url })).toMatchObject({ code: 'Closed' });
});

test('a request ends when its signal aborts, before and during it', async () => {
  const abort = new AbortController();
  const server = await serve(() => abort.abort());
  const client = newClient();
  expect(await failure(client, { url: server.url, signal: abort.signal })).toMatchObject({ code: 'Aborted' });
  expect(await failure(client, { url: server.url, signal: abort.signal })).toMatchObject({ code: 'Aborted' });
});

test('loopback is refused unless it is allowed, by address and by name', async () => {
  const server = await serve((_request, response) => response.end('secret'));
  const guarded = newClient({ allowLoopback: false });
  expect(await failure(guarded, { url: server.url })).toMatchObject({ code: 'Refused' });
  expect(await failure(guarded, { url: `http://localhost:${server.port}` })).toMatchObject({
    code: 'Refused',
  });
  const exempt = newClient({ allowLoopback: false, allowHosts: [`127.0.0.1:${server.port}`] });
  expect((await exempt.send({ url: server.url })).status).toBe(200);
});

test('a name that changes its address after a first valid answer is refused at connect time', async () => {
  const server = await serve((_request, response) =>
    response.writeHead(200, { connection: 'close' }).end('ok'),
  );
  const addresses = ['127.0.0.1', '169.254.169.254'];
  const resolver = ((_name: string, _options: unknown, callback: (error: null, found: object[]) => void) =>
    callback(null, [{ address: addresses.shift(), family: 4 }])) as unknown as Resolver;
  const client = newClient({ resolver });
  const url = `http://rebind.example:${server.port}/`;

  expect((await client.send({ url })).status).toBe(200);
  expect(await failure(client, { url })).toMatchObject({
    code: 'Refused',
    message: expect.stringContaining('169.254.169.254'),
  });
});

test('a header with a line break in it is named, and its value is not', async () => {
  const server = await serve((_request, response) => response.end('ok'));
  const auth = { kind: 'bearer', token: 's3cr3t\nof two lines' } as const;
  const error = await failure(newClient(), { url: server.url, auth });
  expect(error).toMatchObject({
    code: 'InvalidUrl',
    message: `GET ${new URL(server.url).host}: not sent: invalid authorization header; its value must be one line of printable characters`,
  });
});

test('a client certificate whose key would take a second to sign with is not used', async () => {
  const tls = { cert: testCertificate, key: largeRsaKey(16_384) };
  expect(await failure(newClient(), { url: 'https://127.0.0.1:9/', tls })).toMatchObject({
    code: 'ClientCertificate',
    message: expect.stringContaining('is a key of 16384 bits'),
  });
});

test.each(['request', 'connection'] as const)(
  'names of one tenant that are not answered leave the resolution of others alone: by %s',
  async (way) => {
    const server = await serve((_request, response) => response.end('ok'));
    // As the system: some at a time, in the order in which they come.
    let free = 4;
    const resolver = ((name: string, _options: unknown, callback: (error: null, found: object[]) => void) => {
      if (free === 0) return;
      if (name === 'ok.example') callback(null, [{ address: '127.0.0.1', family: 4 }]);
      else free -= 1;
    }) as unknown as Resolver;
    const client = newClient({ resolver, connectTimeoutMs: 1_000 });
    const { port } = server;
    const ask = (host: string, tenant: string): Promise<unknown> =>
      way === 'request'
        ? client.send({ url: `http://${host}:${port}/`, tenant })
        : client.connect({ protocol: 'ssh', host, port, tenant });
    const hanging = Array.from({ length: 10 }, (_, index) =>
      ask(`hangs-${index}.example`, 'webhooks shop').catch((error: unknown) => error),
    );

    await expect(ask('ok.example', 'webhooks bank')).resolves.toBeDefined();

    for (const error of await Promise.all(hanging)) expect(error).toMatchObject({ code: 'Timeout' });
  },
);

test('one forbidden address among several refuses the name', async () => {
  const resolver = ((_name: string, _options: unknown, callback: (error: null, found: object[]) => void) =>
    callback(null, [
      { address: '10.0.0.1', family: 4 },
      { address: 'fe80::1', family: 6 },
    ])) as unknown as Resolver;
  expect(await failure(newClient({ resolver }), { url: 'http://mixed.example/' })).toMatchObject({
    code: 'Refused',
  });
});

test.each(['ftp://host/', 'file:///etc/passwd', 'nonsense', 'http://ada:my-token-word@host/'])(
  'refuses the URL %s',
  async (url) => {
    const error = await failure(newClient(), { url });
    expect(error).toMatchObject({ code: 'InvalidUrl' });
    expect(String(error)).not.toContain('my-token-word');
  },
);

test('a self-signed server is refused, accepted with its authority, and accepted when verification is off', async () => {
  const server = await serve((_request, response) => response.end('ok'), true);
  const client = newClient();
  expect(await failure(client, { url: server.url })).toMatchObject({ code: 'Tls' });
  expect((await client.send({ url: server.url, tls: { ca: testCertificate } })).status).toBe(200);
  expect((await client.send({ url: server.url, tls: { insecureSkipVerify: true } })).status).toBe(200);
  expect(await failure(client, { url: server.url })).toMatchObject({ code: 'Tls' });
});

test('asks one host only as often at a time as it has slots, and gives slots back after failures', async () => {
  let active = 0;
  let most = 0;
  const server = await serve((request, response) => {
    active += 1;
    most = Math.max(most, active);
    setTimeout(() => {
      active -= 1;
      if (request.url === '/cut') response.destroy();
      else response.end('ok');
    }, 10);
  });
  const client = newClient({ maxConcurrentPerHost: 2 });
  const paths = ['/', '/cut', '/', '/cut', '/', '/', '/cut', '/'];
  const results = await Promise.allSettled(paths.map((path) => client.send({ url: server.url + path })));
  expect(results.map(({ status }) => status)).toEqual(
    paths.map((path) => (path === '/cut' ? 'rejected' : 'fulfilled')),
  );
  expect(most).toBe(2);
});

test('an answer that is dropped unread gives its slot back', async () => {
  const server = await serve((_request, response) => response.end(Buffer.alloc(500_000)));
  const client = newClient({ maxConcurrentPerHost: 1 });
  (await client.open({ url: server.url })).cancel();
  await client.open({ url: server.url, limits: { totalTimeoutMs: 1_000 } });
  expect((await client.send({ url: server.url })).body).toHaveLength(500_000);
});

test('proxy variables of the environment are not used', async () => {
  const server = await serve((_request, response) => response.end('direct'));
  process.env.HTTP_PROXY = 'http://127.0.0.1:1';
  try {
    expect(Buffer.from((await newClient().send({ url: server.url })).body).toString()).toBe('direct');
  } finally {
    delete process.env.HTTP_PROXY;
  }
});

test('a tenant has its own slots at a host, and a share of all of them', async () => {
  const waiting: Array<() => void> = [];
  const server = await serve((_request, response) => void waiting.push(() => response.end('ok')));
  const other = await serve((_request, response) => void waiting.push(() => response.end('ok')));
  const client = newClient({ maxConcurrentPerHost: 2, maxConcurrentPerTenant: 3 });
  const noisy = forTenant(client, 'git noisy');
  const sent = [server, server, server, other, other].map(({ url }) => noisy.send({ url }));
  await eventually(() => waiting.length === 3, 'two at the one host, one at the other');
  sent.push(forTenant(client, 'git shop').send({ url: server.url }));
  await eventually(() => waiting.length === 4, 'the other tenant was served');
  while (waiting.length > 0) {
    waiting.shift()?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  for (const { status } of await Promise.all(sent)) expect(status).toBe(200);
});

test('a name that resolves to an address of the API server is refused at its port, whenever that address becomes known', async () => {
  const server = await serve((_request, response) =>
    response.writeHead(200, { connection: 'close' }).end('ok'),
  );
  const other = await serve((_request, response) => response.end('ok'));
  const resolver = ((_name: string, _options: unknown, callback: (error: null, found: object[]) => void) =>
    callback(null, [{ address: '127.0.0.1', family: 4 }])) as unknown as Resolver;
  const denied: string[] = [];
  const client = newClient({ resolver, deniedAddresses: () => denied });
  const url = `http://innocent.example:${server.port}/`;
  expect((await client.send({ url })).status).toBe(200);
  denied.push(`127.0.0.1:${server.port}`);
  expect(await failure(client, { url })).toMatchObject({
    code: 'Refused',
    message: expect.stringContaining('API server'),
  });
  expect(
    await failure(client, { url: server.url, proxy: `http://innocent.example:${server.port}` }),
  ).toMatchObject({
    code: 'Refused',
  });
  expect((await client.send({ url: `http://innocent.example:${other.port}/` })).status).toBe(200);
});
