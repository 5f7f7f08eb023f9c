import { createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createHttpClient, forTenant } from './client.ts';
import { startTestProxy } from './testing/servers.ts';
import type { Connection, HttpClient } from './types.ts';

const cleanups: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function newClient(options: Parameters<typeof createHttpClient>[0] = {}): HttpClient {
  const client = createHttpClient({ allowLoopback: true, ...options });
  cleanups.push(() => client.close());
  return client;
}

/** A raw TCP server; `sockets` are the open connections. */
async function listen(serve: (socket: Socket) => void = () => undefined) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.once('close', () => sockets.delete(socket));
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  return { sockets, port: typeof address === 'object' && address ? address.port : 0 };
}

const to = (port: number) => ({ protocol: 'ssh', host: '127.0.0.1', port });

/** What comes until the connection is gone. */
async function received({ socket }: Connection): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks).toString();
}

test('bytes are sent both ways, including those before the first read', async () => {
  const { port } = await listen((socket) => {
    socket.write('hello ');
    socket.on('data', (chunk) => socket.end(chunk));
  });
  const connection = await newClient().connect(to(port));
  await new Promise((resolve) => setTimeout(resolve, 50));
  connection.socket.write('world');
  expect(await received(connection)).toBe('hello world');
  await connection.closed;
});

test.each([
  ['169.254.169.254', 22, 'metadata address'],
  ['127.0.0.1', 22, 'loopback'],
  ['0x7f000001', 22, 'loopback'],
  ['::ffff:127.0.0.1', 22, 'loopback'],
  ['kubernetes.default.svc', 443, 'API server'],
  ['KUBERNETES.default', 443, 'API server'],
])('%s is refused by the rules for addresses', async (host, port, problem) => {
  const refused = newClient({ allowLoopback: false }).connect({ protocol: 'ssh', host, port });
  await expect(refused).rejects.toMatchObject({ code: 'Refused', message: expect.stringContaining(problem) });
});

test('a name is judged by the addresses it has when it is connected to', async () => {
  const resolver = ((_host: string, _options: unknown, callback: (error: null, found: unknown) => void) =>
    callback(null, [{ address: '169.254.169.254', family: 4 }])) as never;
  const refused = newClient({ resolver }).connect({ protocol: 'ssh', host: 'git.example.com', port: 22 });
  await expect(refused).rejects.toMatchObject({ code: 'Refused' });
});

test.each([
  ['git.example.com/x', 22],
  ['user@git.example.com', 22],
  ['git.example.com', 70_000],
])('%s:%s is no place to connect to', async (host, port) => {
  const refused = newClient().connect({ protocol: 'ssh', host, port });
  await expect(refused).rejects.toMatchObject({ code: 'InvalidUrl' });
});

test('silence, a trickle and a flood end the connection, and each says so', async () => {
  const silent = await listen();
  const trickling = await listen((socket) => {
    const timer = setInterval(() => socket.write('.'), 20);
    socket.once('close', () => clearInterval(timer));
  });
  const flooding = await listen((socket) => void socket.write('x'.repeat(100_000)));
  // Only the limit that is meant can be reached, however slow the machine is.
  const wide = { idleTimeoutMs: 60_000, totalTimeoutMs: 60_000, maxBytes: 1_000_000 };
  const endOf = async (port: number, tight: Partial<typeof wide>) => {
    const connection = await newClient({ limits: { ...wide, ...tight } }).connect(to(port));
    await received(connection);
    return connection.signal.reason as { code: string; message: string };
  };
  expect(await endOf(silent.port, { idleTimeoutMs: 200 })).toMatchObject({
    code: 'Timeout',
    message: expect.stringContaining('no data'),
  });
  expect(await endOf(trickling.port, { totalTimeoutMs: 500 })).toMatchObject({
    code: 'Timeout',
    message: expect.stringContaining('not finished within 0.5 s'),
  });
  expect(await endOf(flooding.port, { maxBytes: 10_000 })).toMatchObject({
    code: 'TooLarge',
    message: expect.stringContaining('larger than 10000 bytes'),
  });
});

test('a host that hangs holds the slots of its tenant alone, and gives them back', async () => {
  const { port } = await listen();
  const client = newClient({
    maxConcurrentPerHost: 1,
    limits: { idleTimeoutMs: 5_000, totalTimeoutMs: 5_000 },
  });
  const [ada, eve] = [forTenant(client, 'git ada'), forTenant(client, 'git eve')];
  const first = await ada.connect(to(port));
  let isOpen = false;
  const second = ada.connect(to(port)).then((connection) => {
    isOpen = true;
    return connection;
  });
  (await eve.connect(to(port))).end();
  expect(isOpen).toBe(false);
  first.end();
  (await second).end();
});

test('closing the client ends what is open', async () => {
  const { port, sockets } = await listen();
  const client = createHttpClient({ allowLoopback: true });
  const connection = await client.connect(to(port));
  await client.close();
  await connection.closed;
  await expect.poll(() => sockets.size).toBe(0);
});

test('a proxy is asked for a tunnel with its credentials, and obeys the rules for addresses', async () => {
  const { port } = await listen((socket) => void socket.end('hello'));
  const proxy = await startTestProxy('me:pw');
  cleanups.push(proxy.close);
  const through = await newClient().connect({ ...to(port), proxy: `http://me:pw@${proxy.address}` });
  expect(await received(through)).toBe('hello');
  expect(proxy.asked[0]).toContain(`CONNECT 127.0.0.1:${port}`);
  const wrong = newClient().connect({ ...to(port), proxy: `http://me:s3cret@${proxy.address}` });
  await expect(wrong).rejects.toMatchObject({ code: 'ProxyCredentials' });
  await expect(wrong).rejects.not.toThrow(/s3cret/);
  const forbidden = newClient().connect({ ...to(port), proxy: 'http://me:s3cret@169.254.169.254:80' });
  await expect(forbidden).rejects.toMatchObject({ code: 'Refused' });
  await expect(forbidden).rejects.not.toThrow(/s3cret/);
});
