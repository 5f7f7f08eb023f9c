import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestRepository } from '../testing/test-repository.ts';
import type { GitTransport } from '../wire/transport.ts';
import { createPause, createReader, hasWholeCommit } from './objects.ts';
import { DEFAULT_PACK_LIMITS } from './pack/index-pack.ts';
import { receivePack } from './session.ts';
import { emptyStore } from './store-directory.ts';

let root: string;
let store: string;
let commit: string;
let pack: Buffer;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-incoming-'));
  store = join(root, 'store.git');
  await emptyStore(store);
  const repository = createTestRepository(root, 'shop');
  repository.commit({ 'a.yaml': 'a: 1\n'.repeat(40), 'b/b.yaml': 'b: 1\n'.repeat(40) });
  commit = repository.commit({ 'a.yaml': `${'a: 1\n'.repeat(40)}a: 2\n` });
  pack = execFileSync('git', ['pack-objects', '--stdout', '--all', '-q'], {
    cwd: join(root, 'shop'),
    input: '',
  });
});
afterEach(() => rmSync(root, { recursive: true }));

/** A server that answers each request with these bytes as its pack. */
function sending(bytes: Buffer): GitTransport {
  return {
    request: () => Promise.reject(new Error('no listing here')),
    said: (text) => text,
    receivePack: () => {
      throw new Error('no push here');
    },
    async uploadPack() {
      const packet = Buffer.concat([
        Buffer.from((bytes.length + 5).toString(16).padStart(4, '0')),
        Buffer.from([1]),
        bytes,
      ]);
      return (async function* () {
        yield Buffer.concat([Buffer.from('0008NAK\n'), packet, Buffer.from('0000')]);
      })();
    },
  };
}

function receive(
  bytes: Buffer,
  more: Partial<Pick<Parameters<typeof receivePack>[0], 'gitdir' | 'tenant' | 'admit' | 'pause'>> = {},
): Promise<unknown> {
  const incoming = {
    gitdir: store,
    tenant: 'shop',
    transport: sending(bytes),
    limits: DEFAULT_PACK_LIMITS,
    admit: async () => undefined,
    pause: createPause(),
    ...more,
  };
  return receivePack(incoming, { want: commit, haves: [] });
}

async function isThere(): Promise<boolean> {
  const reader = createReader(store);
  return hasWholeCommit(reader, commit).finally(() => reader.close());
}

function resealed(bytes: Buffer): Buffer {
  const body = bytes.subarray(0, -20);
  return Buffer.concat([body, createHash('sha1').update(body).digest()]);
}

test('installs a valid pack, and the same pack again changes nothing', async () => {
  await receive(pack);
  await receive(pack);
  expect(await isThere()).toBe(true);
  expect(readdirSync(join(store, 'objects', 'pack'))).toHaveLength(2);
});

test('mutated packs with a correct checksum cause a GitError or other objects, and never damage the store', async () => {
  await receive(pack);
  let seed = 7;
  for (let round = 0; round < 200; round += 1) {
    const mutated = Buffer.from(pack);
    for (let flips = 0; flips < 2; flips += 1) {
      seed = (seed * 48_271) % 2_147_483_647;
      const offset = 12 + (seed % (pack.length - 32));
      mutated.writeUInt8((mutated.readUInt8(offset) + 1 + (seed % 255)) & 0xff, offset);
    }
    await receive(resealed(mutated)).catch((error: unknown) =>
      expect(error).toMatchObject({ name: 'GitError' }),
    );
  }
  expect(await isThere()).toBe(true);
  expect(readdirSync(join(store, 'incoming'))).toEqual([]);
  expect(readdirSync(root).sort()).toEqual(['shop', 'shop.git', 'store.git']);
});

test('packs of a namespace with many are indexed in turn with those of others', async () => {
  const order: string[] = [];
  let open = () => {};
  const isOpen = new Promise<void>((resolve) => {
    open = resolve;
  });
  let waiting = 0;
  const index = async (tenant: string, number: number) => {
    // Of one store only one session is open at a time.
    const gitdir = join(root, `${number}.git`);
    await emptyStore(gitdir);
    let hasBegun = false;
    return receive(pack, {
      gitdir,
      tenant,
      async admit(bytes) {
        if (bytes > 0) waiting += 1;
      },
      async pause() {
        if (!hasBegun) order.push(tenant);
        hasBegun = true;
        await isOpen;
      },
    });
  };
  const received = ['large', 'large', 'large', 'large', 'large', 'small'].map(index);

  while (waiting < received.length) await setImmediate();
  await setImmediate();
  open();
  await Promise.all(received);

  expect(order.indexOf('small')).toBeLessThanOrEqual(2);
});

test('a pack cut at any length leaves the store as it was', async () => {
  for (let length = 0; length < pack.length; length += 7) {
    const cut = pack.subarray(0, length);
    if (length > 0) await expect(receive(cut)).rejects.toMatchObject({ name: 'GitError' });
  }
  expect(readdirSync(join(store, 'objects', 'pack'))).toEqual([]);
  expect(readdirSync(join(store, 'incoming'))).toEqual([]);
});
