import { randomUUID } from 'node:crypto';
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitTransport } from '../wire/transport.ts';
import { type FetchRequest, fetchPack, type ShallowChange } from '../wire/upload-pack.ts';
import { createMutex } from './mutex.ts';
import { indexPack, type PackLimits } from './pack/index-pack.ts';
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
  const file = join(incoming.gitdir, 'incoming', `${randomUUID()}.pack`);
  try {
    const change = await download(incoming, { ...request, shallow: [...shallow] }, file);
    const { size } = await storage(() => stat(file));
    const lane = size > LARGE_PACK_BYTES ? indexing.large : indexing.small;
    const checksum = await lane.run(() => writeIndex(incoming, file));
    // The boundary grows before the objects arrive and shrinks after: a crash between leaves it too wide, which is safe.
    await writeShallow(incoming.gitdir, new Set([...shallow, ...change.shallow]));
    if (checksum !== undefined) await install(incoming.gitdir, file, checksum);
    await shrinkShallow(incoming.gitdir, change);
  } finally {
    await Promise.all([file, indexName(file)].map((path) => rm(path, { force: true })));
  }
}

async function download(incoming: Incoming, request: FetchRequest, file: string): Promise<ShallowChange> {
  const handle: FileHandle = await storage(() => open(file, 'w'));
  try {
    return await fetchPack(incoming.transport, request, (bytes) => storage(() => handle.writeFile(bytes)));
  } finally {
    await handle.close();
  }
}

const LARGE_PACK_BYTES = 1_048_576;

/** Packs of all repositories are indexed one after the other, since each may take the memory that the limits allow; large ones by themselves, since they take long. */
const indexing = { small: createMutex(), large: createMutex() };

/**
 * Checks a pack and writes its index beside it. Gives its checksum; undefined for one without objects. Bases are looked for in the pack
 * alone, since no thin pack is asked for, and packs are read one by one.
 */
async function writeIndex({ limits, pause }: Incoming, file: string): Promise<string | undefined> {
  const pack = await storage(() => readFile(file));
  if (pack.length === 0) return undefined;
  const { count, index } = await indexPack(pack, limits, pause);
  if (count === 0) return undefined;
  await storage(() => writeFile(indexName(file), index));
  return pack.toString('hex', pack.length - 20);
}

/** Moves pack and index into the store; a pack without its index is not looked at. */
async function install(gitdir: string, file: string, checksum: string): Promise<void> {
  const target = join(gitdir, 'objects', 'pack', `pack-${checksum}.pack`);
  await storage(async () => {
    await rename(file, target);
    await rename(indexName(file), indexName(target));
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
