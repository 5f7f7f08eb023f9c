import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { createHttpClient } from './client.ts';
import type { HttpClient } from './types.ts';

/** The suites of TLS with an ephemeral Diffie-Hellman group that the server makes up, as IANA numbers them. */
const suitesOfServersGroups = [0x33, 0x39, 0x67, 0x6b, 0x9e, 0x9f, 0xc09e, 0xc09f, 0xc0a2, 0xc0a3, 0xccaa];

/** The suites in the first message of a client of TLS. */
function suitesIn(hello: Buffer): number[] {
  // Five bytes of the record, four of the message, two of the version, 32 random ones; then the session, and the suites.
  const at = 44 + (hello[43] ?? 0);
  const count = hello.readUInt16BE(at) / 2;
  return Array.from({ length: count }, (_, index) => hello.readUInt16BE(at + 2 + 2 * index));
}

const limits = { idleTimeoutMs: 5_000, totalTimeoutMs: 5_000, maxBytes: 1_000 };
const there = { protocol: 'ssh', host: '127.0.0.1', port: 22, limits } as const;

test.each<[string, (client: HttpClient, url: string) => Promise<unknown>]>([
  ['a server', (client, url) => client.send({ url })],
  ['a proxy', (client, proxy) => client.send({ url: 'http://127.0.0.1:1', proxy })],
  ['a proxy to SSH', (client, proxy) => client.connect({ ...there, proxy })],
])('%s cannot choose the numbers that keys are computed with', async (_, connect) => {
  const hellos: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      hellos.push(chunk);
      socket.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = createHttpClient({ allowLoopback: true });

  await expect(connect(client, `https://127.0.0.1:${port}`)).rejects.toThrow();

  const [hello = Buffer.alloc(0)] = hellos;
  const offered = suitesIn(hello);
  expect(offered).toContain(0x1301);
  expect(offered.filter((suite) => suitesOfServersGroups.includes(suite))).toEqual([]);
  server.close();
  await client.close();
});
