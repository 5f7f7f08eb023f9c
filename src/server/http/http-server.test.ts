import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../../cluster/testing/manual-clock.ts';
import { type HttpServer, type Route, readBody, startHttpServer } from './http-server.ts';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const health: Route = { method: 'GET', path: '/healthz', handle: () => ({ status: 200, body: 'OK\n' }) };

async function serve(routes: readonly Route[] = [health]): Promise<HttpServer> {
  const server = await startHttpServer({ host: '127.0.0.1', port: 0 }, routes, () => undefined);
  cleanups.push(() => server.close());
  return server;
}

/** A connection from one of the loopback addresses, with what came back so far. */
async function open({ url }: HttpServer, text = '', localAddress = '127.0.0.1') {
  const { port, hostname } = new URL(url);
  const socket: Socket = connect({ port: Number(port), host: hostname, localAddress });
  const seen = { text: '', isClosed: false };
  socket.on('data', (chunk) => {
    seen.text += chunk;
  });
  socket
    .on('error', () => undefined)
    .on('close', () => {
      seen.isClosed = true;
    });
  cleanups.push(() => socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  if (text) socket.write(text);
  return seen;
}

const addresses = Array.from({ length: 8 }, (_, index) => `127.0.0.${index + 1}`);

test.each([
  ['silent', ''],
  ['that never end their headers', 'GET /healthz HTTP/1.1\r\nx-header: '],
  [
    'that never send the body they announced',
    'POST /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n',
  ],
  ['kept alive', 'GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n'],
])('512 connections %s keep nobody from an answer', async (_name, text) => {
  const server = await serve();
  for (let round = 0; round < 64; round += 1)
    await Promise.all(addresses.map((address) => open(server, text, address)));
  const answer = await fetch(`${server.url}/healthz`, { signal: AbortSignal.timeout(600_000) });
  expect(answer.status).toBe(200);
});

test('one address takes only its share of the connections, and its oldest idle one makes room for the next', async () => {
  const server = await serve();
  const other = await open(server, '', '127.0.0.2');
  const mine: Array<Awaited<ReturnType<typeof open>>> = [];
  for (let count = 0; count < 72; count += 1) mine.push(await open(server));
  await eventually(() => mine.filter(({ isClosed }) => isClosed).length === 8, 'eight were closed');
  expect(mine.findIndex(({ isClosed }) => !isClosed)).toBe(8);
  expect(other.isClosed).toBe(false);
});

test('a connection whose request is being answered is not closed for another', async () => {
  let end: () => void = () => undefined;
  const slow: Route = {
    method: 'GET',
    path: '/slow',
    handle: () => new Promise((resolve) => (end = () => resolve({ status: 200, body: 'late\n' }))),
  };
  const server = await serve([slow]);
  const busy = await open(server, 'GET /slow HTTP/1.1\r\nhost: a\r\n\r\n');
  await Promise.all(Array.from({ length: 90 }, () => open(server)));
  end();
  await eventually(() => busy.text.includes('late'), 'the answer came');
});

test('a client that does not read its answer is disconnected', async () => {
  const body = Buffer.alloc(16 * 1_048_576);
  let isAsked = false;
  let isClosed = false;
  const large: Route = {
    method: 'GET',
    path: '/large',
    handle({ socket }) {
      isAsked = true;
      socket.once('close', () => {
        isClosed = true;
      });
      return { status: 200, body };
    },
  };
  const address = { host: '127.0.0.1', port: 0 };
  const server = await startHttpServer(address, [large], () => undefined, { stuckMs: 200 });
  cleanups.push(() => server.close());
  // On a busy machine a connection may be stuck for that long before its request is read.
  while (!isAsked) {
    const reader = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' });
    cleanups.push(() => reader.destroy());
    reader.pause().write('GET /large HTTP/1.1\r\nhost: a\r\n\r\n');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await eventually(() => isClosed, 'it was closed');
});

test('headers must come within seconds', async () => {
  const server = await serve();
  const [silent, slow] = [await open(server), await open(server, 'GET /healthz HTTP/1.1\r\nx: ')];
  await eventually(() => silent.isClosed && slow.isClosed, 'both were closed');
});

test('a client that leaves in the middle of its request is no error for the log, and a handler that fails is', async () => {
  const errors: unknown[] = [];
  let ended = 0;
  const fault = new Error('the handler failed');
  const route: Route = {
    method: 'POST',
    path: '/work',
    async handle(request) {
      const body = await readBody(request, 100).finally(() => {
        ended += 1;
      });
      if (body?.toString() === 'bad') throw fault;
      return { status: 202, body: 'taken\n' };
    },
  };
  const server = await startHttpServer({ host: '127.0.0.1', port: 0 }, [route], (error) =>
    errors.push(error),
  );
  cleanups.push(() => server.close());
  const leaving = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' });
  leaving.write('POST /work HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf');
  await new Promise((resolve) => setTimeout(resolve, 50));
  leaving.resetAndDestroy();
  await eventually(() => ended === 1, 'the half request ended');
  expect((await fetch(`${server.url}/work`, { method: 'POST', body: 'bad' })).status).toBe(500);
  expect(errors).toEqual([fault]);
});

test('a client that reads the answer once it has sent its body is told that this is too large', async () => {
  const route: Route = {
    method: 'POST',
    path: '/work',
    async handle(request) {
      const body = await readBody(request, 1_048_576);
      return body ? { status: 202, body: 'taken\n' } : { status: 413, body: 'too large\n' };
    },
  };
  const { url } = await serve([route]);
  const size = 16 * 1_048_576;
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' });
  cleanups.push(() => socket.destroy());
  socket.write(`POST /work HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n`);

  const problem = await new Promise<unknown>((sent) =>
    socket.on('error', sent).write(Buffer.alloc(size), sent),
  );
  const answer = new Promise<string>((read) => socket.once('data', (chunk) => read(chunk.toString())));

  expect(problem ?? undefined).toBeUndefined();
  expect(await answer).toMatch(/^HTTP\/1.1 413 /);
});

test('a request beyond the slots of a route is refused before its body is read, with Retry-After', async () => {
  const bodies: number[] = [];
  const slots = { maximum: 2, taken: 0 };
  const route: Route = {
    method: 'POST',
    path: '/work',
    slots: () => [slots],
    async handle(request) {
      const body = await readBody(request, 100);
      bodies.push(body?.length ?? 0);
      return { status: 202, body: 'taken\n' };
    },
  };
  const server = await serve([route, health]);
  const begin = 'POST /work HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n';
  await Promise.all([open(server, begin), open(server, begin)]);
  await eventually(() => slots.taken === 2, 'both slots are taken');
  const refused = await open(server, begin);
  await eventually(() => refused.isClosed, 'the third was refused');
  expect(refused.text).toMatch(/^HTTP\/1.1 503 /);
  expect(refused.text.toLowerCase()).toContain('retry-after: 1');
  expect(bodies).toEqual([]);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});
