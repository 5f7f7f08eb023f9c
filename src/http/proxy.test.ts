import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createHttpClient } from './client.ts';
import { testCertificate } from './testing/certificate.ts';
import { startTestServer } from './testing/test-server.ts';

const cleanups: Array<() => Promise<void>> = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A forward proxy that passes everything on and remembers what it was asked. */
async function startProxy(): Promise<{ address: string; asked: string[] }> {
  const asked: string[] = [];
  const server: Server = createServer(async (request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers['proxy-authorization'] ?? ''}`.trim());
    const answer = await fetch(request.url ?? '', { method: request.method ?? 'GET' });
    response.writeHead(answer.status).end(await answer.text());
  });
  server.on('connect', (request, socket, head) => {
    asked.push(`CONNECT ${request.url}`);
    const [host = '', port = ''] = (request.url ?? '').split(':');
    const upstream = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

test('plain HTTP goes through the proxy with its credentials', async () => {
  const proxy = await startProxy();
  const server = await startTestServer((_, response) => response.end('here'));
  const client = createHttpClient({ allowLoopback: true });
  cleanups.push(server.close, () => client.close());
  const answer = await client.send({ url: `${server.url}/x`, proxy: `http://me:pw@${proxy.address}` });
  expect(Buffer.from(answer.body).toString()).toBe('here');
  expect(proxy.asked).toEqual([`GET ${server.url}/x Basic ${Buffer.from('me:pw').toString('base64')}`]);
});

test('HTTPS goes through a tunnel, and the certificate is still checked', async () => {
  const proxy = await startProxy();
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
