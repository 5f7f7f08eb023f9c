import { createHash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import git from 'isomorphic-git';
import { GitError } from '../errors.ts';
import type { GitTransport } from '../wire/transport.ts';
import { type FetchRequest, fetchPack, type ShallowChange } from '../wire/upload-pack.ts';
import { checkPack, type PackLimits } from './pack/pack-check.ts';
import { readShallow, storage, writeShallow } from './store-directory.ts';

/** What receiving a pack needs. */
interface Incoming {
  readonly gitdir: string;
  readonly transport: GitTransport;
  readonly limits: PackLimits;
  /** Awaited now and then in long work; throws to stop. */
  readonly pause: () => Promise<void>;
}

/**
 * Fetches one pack into the store: streamed to a file aside, checked, indexed, then moved in. Whatever fails on
 * the way leaves the store as it was.
 */
export async function receivePack(incoming: Incoming, request: Omit<FetchRequest, 'shallow'>): Promise<void> {
  const shallow = await readShallow(incoming.gitdir);
  const name = `incoming/${randomUUID()}.pack`;
  const file = join(incoming.gitdir, name);
  try {
    const change = await download(incoming, { ...request, shallow: [...shallow] }, file);
    const pack = await storage(() => readFile(file));
    const count = pack.length === 0 ? 0 : await checkPack(pack, incoming.limits, incoming.pause);
    // The boundary grows before the objects arrive and shrinks after: a crash between leaves it too wide, which is safe.
    await writeShallow(incoming.gitdir, new Set([...shallow, ...change.shallow]));
    if (count > 0) await indexAndInstall(incoming, { name, file, count, pack });
    await shrinkShallow(incoming.gitdir, change);
  } finally {
    await Promise.all([file, indexName(file)].map((path) => rm(path, { force: true })));
  }
}

async function download(incoming: Incoming, request: FetchRequest, file: string): Promise<ShallowChange> {
  const handle: FileHandle = await storage(() => open(file, 'w'));
  try {
    return await fetchPack(incoming.transport, request, (bytes) => storage(() => writeWhole(handle, bytes)));
  } finally {
    await handle.close();
  }
}

async function writeWhole(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let offset = 0; offset < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, offset);
    offset += bytesWritten;
  }
}

async function indexAndInstall(
  incoming: Incoming,
  received: { name: string; file: string; count: number; pack: Buffer },
): Promise<void> {
  const { gitdir, pause } = incoming;
  // Bases are looked for in the pack alone, since no thin pack is asked for, and packs are read one by one: what needs another pack
  // could be indexed here and never read.
  const apart = join(gitdir, 'incoming');
  const { oids } = await git
    .indexPack({ fs, dir: gitdir, gitdir: apart, filepath: received.name, cache: {}, onProgress: pause })
    .catch((error: unknown) => {
      throw error instanceof GitError ? error : damaged(error);
    });
  // The library leaves out objects it cannot rebuild instead of failing. One that stands twice may be a delta of itself.
  if (oids.length !== received.count || new Set(oids).size !== received.count) throw damaged();
  const sum = createHash('sha1').update(received.pack).digest('hex');
  const target = join(gitdir, 'objects', 'pack', `pack-${sum}.pack`);
  await storage(async () => {
    await rename(received.file, target);
    await rename(indexName(received.file), indexName(target));
  });
}

async function shrinkShallow(gitdir: string, { unshallow }: ShallowChange): Promise<void> {
  if (unshallow.length === 0) return;
  const gone = new Set(unshallow);
  const shallow = await readShallow(gitdir);
  await writeShallow(gitdir, new Set([...shallow].filter((oid) => !gone.has(oid))));
}

function indexName(pack: string): string {
  return pack.replace(/\.pack$/, '.idx');
}

function damaged(cause?: unknown): GitError {
  return new GitError(
    'Unreachable',
    'the pack from the Git server is damaged: an object cannot be rebuilt',
    cause,
  );
}
