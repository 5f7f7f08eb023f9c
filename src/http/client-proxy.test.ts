import { createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { createHttpClient } from './client.ts';
import { startTestProxy, startTestServer, testCertificate } from './testing/servers.ts';

const cleanups: Array<() => Promise<void>> = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function openProxy(credentials?: string) {
  const proxy = await startTestProxy(credentials);
  cleanups.push(proxy.close);
  return proxy;
}

/** A proxy that takes connections and answers nothing; `read` gets those on which something was asked. */
async function openSilentProxy(read: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => read(socket));
  });
  const address = await new Promise<string>((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const bound = server.address();
      resolve(typeof bound === 'object' ? `127.0.0.1:${bound?.port}` : '');
    }),
  );
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { address, opened: () => sockets.size };
}

test('plain HTTP goes through the proxy with its credentials', async () => {
  const proxy = await openProxy();
  const server = await startTestServer((_, response) => response.end('here'));
  const client = createHttpClient({ allowLoopback: true });
  cleanups.push(server.close, () => client.close());
  const answer = await client.send({ url: `${server.url}/x`, proxy: `http://me:pw@${proxy.address}` });
  expect(Buffer.from(answer.body).toString()).toBe('here');
  expect(proxy.asked).toEqual([`GET ${server.url}/x Basic ${Buffer.from('me:pw').toString('base64')}`]);
});

test('HTTPS goes through a tunnel, and the certificate is still checked', async () => {
  const proxy = await openProxy();
  const server = await startTestServer((_, response) => response.end('here'), true);
  const client = createHttpClient({ allowLoopback: true });
  cleanups.push(server.close, () => client.close());
  const url = `https://localhost:${server.port}/x`;
  const through = { url, proxy: `http://${proxy.address}` };
  await expect(client.send(through)).rejects.toMatchObject({ code: 'Tls' });
  const answer = await client.send({ ...through, tls: { ca: testCertificate } });
  expect(Buffer.from(answer.body).toString()).toBe('here');
  expect(proxy.asked).toContain(`CONNECT localhost:${server.port}`);
});

test('a proxy obeys the address rules, and its credentials are in no message', async () => {
  const client = createHttpClient();
  cleanups.push(() => client.close());
  const request = client.send({ url: 'http://example.com/', proxy: 'http://me:secret@169.254.169.254:80' });
  await expect(request).rejects.toMatchObject({ code: 'Refused' });
  await expect(request).rejects.not.toThrow(/secret/);
  const unreadable = client.send({ url: 'http://example.com/', proxy: 'socks://me:secret@host' });
  await expect(unreadable).rejects.toThrow('must be http(s)://host:port');
});

test('a proxy that requires other credentials is distinguished from such a server', async () => {
  const proxy = await openProxy('me:pw');
  const server = await startTestServer((_, response) => response.end('here'), true);
  const client = createHttpClient({ allowLoopback: true });
  cleanups.push(server.close, () => client.close());
  const url = `https://localhost:${server.port}/x`;
  const asked = client.send({ url, proxy: `http://me:wrong@${proxy.address}`, tls: { ca: testCertificate } });
  await expect(asked).rejects.toMatchObject({ code: 'ProxyCredentials' });
  await expect(asked).rejects.not.toThrow(/wrong/);
});

test.each([
  ['closes the connection', 'Unreachable', (socket: Socket) => socket.end()],
  ['closes it after half an answer', 'Unreachable', (socket: Socket) => socket.end('HTTP/1.1 200')],
  ['answers nothing', 'Unreachable', () => undefined],
] as const)(
  'a proxy that %s instead of opening the tunnel fails the request, and is not asked on',
  async (_, code, read) => {
    const proxy = await openSilentProxy(read);
    const client = createHttpClient({ allowLoopback: true, connectTimeoutMs: 1_000 });
    cleanups.push(() => client.close());

    const request = client.send({ url: 'https://localhost:1/', proxy: `http://${proxy.address}` });

    await expect(request).rejects.toMatchObject({ code });
    await setTimeout(100);
    const before = proxy.opened();
    await setTimeout(200);
    expect([before, proxy.opened()]).toEqual([1, 1]);
  },
);
