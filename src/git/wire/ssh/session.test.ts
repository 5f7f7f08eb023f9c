import { createDiffieHellmanGroup, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createHttpClient } from '../../../http/client.ts';
import { field } from '../../ssh-fields.ts';
import { DEFAULT_TRANSPORT_LIMITS } from '../transport.ts';
import { openPrivateKey } from './private-key.ts';
import { startService } from './session.ts';

const MESSAGES = { kexInit: 20, groupExchangeGroup: 31, groupExchangeRequest: 34 } as const;

/** A packet of SSH as it is sent before the keys are exchanged. */
function packet(type: number, ...parts: readonly Buffer[]): Buffer {
  const payload = Buffer.concat([Buffer.from([type]), ...parts]);
  const padding = Buffer.alloc(4 + ((8 - ((payload.length + 9) % 8)) % 8));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(1 + payload.length + padding.length);
  head[4] = padding.length;
  return Buffer.concat([head, payload, padding]);
}

/** Types of the packets in what a client sent after its greeting. */
function typesIn(sent: Buffer): number[] {
  const types: number[] = [];
  for (let at = sent.indexOf('\n') + 1; at > 0 && at + 6 <= sent.length; at += 4 + sent.readUInt32BE(at))
    types.push(sent[at + 5] ?? 0);
  return types;
}

/** Speaks to a client as a server that lets it compute with a group that no table has: checking this one takes a minute. */
function speak(socket: Socket, heard: number[]): void {
  const lists = ['diffie-hellman-group-exchange-sha256', 'ssh-ed25519', 'aes128-ctr', 'aes128-ctr'];
  const names = [...lists, 'hmac-sha2-256', 'hmac-sha2-256', 'none', 'none', '', ''].map((list) =>
    field(list),
  );
  socket.write('SSH-2.0-hostile\r\n');
  socket.write(packet(MESSAGES.kexInit, Buffer.alloc(16), ...names, Buffer.alloc(5)));
  let sent = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    sent = Buffer.concat([sent, chunk]);
    heard.splice(0, heard.length, ...typesIn(sent));
    if (!heard.includes(MESSAGES.groupExchangeRequest)) return;
    const prime = createDiffieHellmanGroup('modp14').getPrime();
    const group = [field(Buffer.concat([Buffer.alloc(1), prime])), field(Buffer.from([5]))];
    socket.end(packet(MESSAGES.groupExchangeGroup, ...group));
  });
}

test('a server cannot choose the numbers that keys are computed with', async () => {
  const heard: number[] = [];
  const server = createServer((socket) => speak(socket, heard)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = createHttpClient({ allowLoopback: true });
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  const ssh = {
    secret: 'shop/git',
    username: undefined,
    knownHosts: { typesOf: () => [], judge: () => 'known' as const },
    key: await openPrivateKey(pem.toString(), undefined),
  };
  const options = {
    client,
    url: `ssh://git@127.0.0.1:${port}/shop.git`,
    credentials: { ssh },
    limits: DEFAULT_TRANSPORT_LIMITS,
    stats: { requests: 0, receivedBytes: 0 },
    address: { movedTo: undefined },
  };
  const address = { user: 'git', host: '127.0.0.1', port, path: '/shop.git' };

  const started = startService(options, { address, service: 'git-upload-pack', maxBytes: 1_000 });

  await expect(started).rejects.toThrow('no matching key exchange algorithm');
  expect(heard).not.toContain(MESSAGES.groupExchangeRequest);
  server.close();
  await client.close();
});
