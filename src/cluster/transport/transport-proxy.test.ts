import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { ClusterAccess, TlsMaterial } from '../access/credentials.ts';
import { readProxyUrl } from '../access/proxy-url.ts';
import { createAuthority, type KeyPair, nameWarnings } from '../testing/certificates.ts';
import { accessTo, answer, startScriptedServer } from '../testing/scripted-server.ts';
import type { ApiRequest } from './request.ts';
import { createTransport } from './transport.ts';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const read: ApiRequest = { verb: 'get', path: '/version', object: 'the version' };
const write: ApiRequest = { verb: 'apply', path: '/apis/x', object: 'Deployment shop/web', body: {} };
const watch: ApiRequest = { verb: 'watch', path: '/api/v1/pods', object: 'pods' };

/** A proxy that opens tunnels, on a free loopback port; `asked` holds each CONNECT with the credentials that came. */
async function startTunnels(refusal?: number | 'none', tls?: KeyPair) {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = tls ? createTlsServer(tls) : createServer();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('connect', (request, socket) => {
    asked.push([request.url, request.headers['proxy-authorization']].filter(Boolean).join(' '));
    if (refusal === 'none') return socket.end();
    if (refusal) return socket.end(`HTTP/1.1 ${refusal} No\r\ncontent-length: 0\r\n\r\n`);
    const { hostname, port } = new URL(`http://${request.url}`);
    const upstream = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    sockets.add(upstream);
    socket.on('error', () => upstream.destroy());
    return upstream.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { asked, host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function startServer(tls?: KeyPair) {
  const server = await startScriptedServer((request, response) => {
    if (request.path !== '/api/v1/pods') return answer(response, 200, { path: request.path });
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.write('{"type":"BOOKMARK"}\n');
  }, tls);
  cleanups.push(server.close);
  return server;
}

function openTransport(server: string, proxyUrl: string, tls: Partial<TlsMaterial> = {}) {
  const access: ClusterAccess = { ...accessTo(server, tls), proxy: readProxyUrl(proxyUrl) };
  const transport = createTransport({ access, userAgent: 'test', retry: { firstMs: 1, maximumMs: 1 } });
  cleanups.push(() => transport.close());
  return transport;
}

describe('a transport through a proxy', () => {
  it('sends requests and watches through tunnels, with the credentials of the address', async () => {
    const authority = createAuthority();
    cleanups.push(() => authority.remove());
    const server = await startServer(authority.issue('server'));
    const proxy = await startTunnels();
    const transport = openTransport(server.url, `http://me:p%40ss@${proxy.host}`, { ca: authority.ca });
    expect(await transport.request(read)).toMatchObject({ path: '/version' });
    for (let time = 0; time < 10; time += 1) await transport.request(write);
    const end = new AbortController();
    const { body } = await transport.stream({ ...watch, signal: end.signal });
    const first = await body[Symbol.asyncIterator]().next();
    expect(Buffer.from(first.value).toString()).toContain('BOOKMARK');
    end.abort();
    const tunnel = `${new URL(server.url).host} Basic ${Buffer.from('me:p@ss').toString('base64')}`;
    expect(new Set(proxy.asked)).toEqual(new Set([tunnel]));
    // Tunnels stay open: the 11 requests share them, and the watch has a separate one.
    expect(proxy.asked.length).toBeLessThanOrEqual(3);
    expect(server.connections()).toBe(proxy.asked.length);
  });

  it('takes an HTTPS proxy with a certificate of the cluster’s authority, and still verifies the server', async () => {
    const [authority, other] = [createAuthority(), createAuthority()];
    cleanups.push(
      () => authority.remove(),
      () => other.remove(),
    );
    const proxy = await startTunnels(undefined, authority.issue('proxy'));
    const server = await startServer(authority.issue('server'));
    const stranger = await startServer(other.issue('server'));
    const through = (url: string, tls: Partial<TlsMaterial>) =>
      openTransport(url, `https://${proxy.host}`, tls).request(write);
    const warnings = nameWarnings();
    await expect(through(server.url, { ca: authority.ca })).resolves.toBeDefined();
    await expect(through(stranger.url, { ca: authority.ca })).rejects.toThrow(
      /its certificate is .*not trusted/,
    );
    await expect(through(server.url, { insecure: true })).rejects.toMatchObject({ effectUnknown: false });
    expect(stranger.seen).toEqual([]);
    expect(server.seen).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  it('reports a proxy that refuses, and that nothing was sent; its password is in no message', async () => {
    const proxy = await startTunnels(407);
    const server = await startServer();
    const refused = openTransport(server.url, `http://me:hunter2@${proxy.host}`).request(write);
    await expect(refused).rejects.toMatchObject({
      kind: 'transient',
      effectUnknown: false,
      message: `apply Deployment shop/web: the proxy refused the connection with status 407 (API server ${server.url} through the kubeconfig's proxy-url http://${proxy.host})`,
    });
    const unreachable = openTransport(server.url, 'http://me:hunter2@127.0.0.1:1').request(write);
    await expect(unreachable).rejects.toMatchObject({
      effectUnknown: false,
      message: expect.stringMatching(/the connection was refused.*proxy-url http:\/\/127\.0\.0\.1:1\)$/),
    });
    expect(server.seen).toEqual([]);
  });

  it('reports a proxy that closes the connection instead of opening a tunnel, and does not ask it on and on', async () => {
    const proxy = await startTunnels('none');
    const server = await startServer();
    const closed = openTransport(server.url, `http://${proxy.host}`).request(write);
    await expect(closed).rejects.toMatchObject({ kind: 'transient', effectUnknown: false });
    expect(proxy.asked.length).toBeLessThan(10);
  });
});
