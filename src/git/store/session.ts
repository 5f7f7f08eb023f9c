import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as git from 'isomorphic-git';
import { createTurns } from '../../api/turns.ts';
import { GitError } from '../errors.ts';
import type { GitTransport } from '../wire/transport.ts';
import { checkShallow, type FetchRequest, fetchPack, type ShallowChange } from '../wire/upload-pack.ts';
import { createPause, createReader, hasWholeCommit, type ObjectReader } from './objects.ts';
import { indexPack, type PackLimits } from './pack/index-pack.ts';
import { readShallow, storage, writeShallow } from './store-directory.ts';

/** How missing objects are fetched: with the credentials of the Source that needs them. */
export interface Access {
  readonly openTransport: (signal?: AbortSignal) => Promise<GitTransport>;
  readonly signal?: AbortSignal | undefined;
}

/** One operation on the store; it must not outlive the call it was given to. */
export interface Session {
  readonly reader: ObjectReader;
  readonly pause: () => Promise<void>;
  /** Makes sure that a commit with its tree is in the store. Throws NotFound when the server does not send it. */
  ensure(want: Wanted): Promise<void>;
  /** Lengthens the history that ends in `commit`. */
  deepen(commit: string, depth: number): Promise<void>;
  /** The commit under a private ref name, if one was recorded. */
  recorded(name: string): Promise<string | undefined>;
  /** Everything that was recorded, by name. */
  records(): Promise<ReadonlyMap<string, string>>;
  /** Records a commit under a private ref name: later fetches say that the store has it (else all is sent again). */
  record(name: string, commit: string): Promise<void>;
}

/** `want` is asked of the server (a tag object for an annotated tag), `commit` must then be in the store. */
interface Wanted {
  readonly commit: string;
  readonly want?: string;
  /** History length for a commit asked by its id; absent: everything since the recorded commits. */
  readonly depth?: number;
}

const RECORDS = 'refs/holdfast';

/** A session that its opener closes. */
export interface OpenSession extends Session {
  close(): Promise<void>;
}

/** Opens nothing yet; `open` is the reader that the previous session left open. */
export function createSession(
  gitdir: string,
  incoming: Pick<Incoming, 'tenant' | 'limits' | 'admit'>,
  { openTransport, signal }: Access,
  open = createReader(gitdir),
): OpenSession {
  const pause = createPause(signal);
  let reader = open;
  /** What the latest fetch brought. */
  let fetched: string | undefined;

  async function fetch(want: string, depth?: number): Promise<void> {
    await pause();
    const transport = await openTransport(signal);
    const haves = await listHaves(reader);
    fetched = await receivePack({ ...incoming, gitdir, transport, pause }, { want, haves, depth });
    // The new pack is known to a new reader only.
    await reader.close();
    reader = createReader(gitdir);
  }

  return {
    get reader() {
      return reader;
    },
    pause,
    async ensure({ commit, want = commit, depth }) {
      if (await hasWholeCommit(reader, commit)) return;
      const isFirst = (await listHaves(reader)).length === 0;
      if (depth === undefined) await fetchUpdate(fetch, want, isFirst);
      else await fetch(want, depth);
      if (await hasWholeCommit(reader, commit)) return;
      // Otherwise each poll would leave another pack.
      await reader.close();
      if (fetched) await removePack(fetched);
      reader = createReader(gitdir);
      // The server leaves out what the store holds by its own account, and that account may be wrong: without its shallow boundary it claims all of history.
      if (!isFirst)
        throw new GitError('Corrupt', `the local Git store ${gitdir} is damaged and is fetched again`);
      throw new GitError(
        'NotFound',
        `the Git server reported success but did not send commit ${commit}; it may have been removed`,
      );
    },
    deepen: (commit, depth) => fetch(commit, depth),
    recorded: (name) => recordedIn(gitdir, name),
    records: () => recordsIn(gitdir),
    record: (name, commit) => writeRecord(gitdir, name, commit),
    close: () => reader.close(),
  };
}

/** Records a commit under a private ref name in any store, in one step: a process that dies in between leaves the former commit, or none. */
export async function writeRecord(gitdir: string, name: string, commit: string): Promise<void> {
  await storage(async () => {
    const file = join(gitdir, RECORDS, name);
    const written = join(gitdir, `${name.replaceAll('/', '-')}.new`);
    await fs.promises.writeFile(written, `${commit}\n`);
    await fs.promises.mkdir(dirname(file), { recursive: true });
    await fs.promises.rename(written, file);
  });
}

/** Undefined also when its file is empty or truncated, as an earlier version may have left it when it was killed. */
async function recordedIn(gitdir: string, name: string): Promise<string | undefined> {
  const found = await git.resolveRef({ fs, gitdir, ref: `${RECORDS}/${name}` }).catch(() => undefined);
  return found !== undefined && /^[0-9a-f]{40}$/.test(found) ? found : undefined;
}

async function recordsIn(gitdir: string): Promise<Map<string, string>> {
  const names = await git.listRefs({ fs, gitdir, filepath: RECORDS }).catch(() => []);
  const found = await Promise.all(names.map(async (name) => [name, await recordedIn(gitdir, name)] as const));
  return new Map(found.flatMap(([name, commit]) => (commit === undefined ? [] : [[name, commit] as const])));
}

/**
 * First fetch: one commit deep. Later ones: without depth, else the server sends a whole snapshot each time.
 * When that is too much (a rewritten history may come whole), one commit deep again.
 */
async function fetchUpdate(
  fetch: (want: string, depth?: number) => Promise<void>,
  want: string,
  isFirst: boolean,
): Promise<void> {
  if (isFirst) return fetch(want, 1);
  try {
    await fetch(want);
  } catch (error) {
    if (!(error instanceof GitError) || error.code !== 'TooLarge') throw error;
    await fetch(want, 1);
  }
}

const MAX_HAVES = 64;

/** The recorded commits that the store really holds. */
async function listHaves(reader: ObjectReader): Promise<string[]> {
  const records = await recordsIn(reader.gitdir);
  const haves = new Set<string>();
  // Followed heads (`poll/`) come before commits fetched by id (`kept/`): they save the most.
  for (const name of [...records.keys()].sort().reverse().slice(0, MAX_HAVES)) {
    const oid = records.get(name) ?? '';
    if (await hasWholeCommit(reader, oid)) haves.add(oid);
  }
  return [...haves];
}

/** What receiving a pack needs. */
interface Incoming {
  readonly gitdir: string;
  /** Whose pack it is. */
  readonly tenant: string;
  readonly transport: GitTransport;
  readonly limits: PackLimits;
  /** So many bytes of the pack are on the disk, beside the store. Throws GitError where there is no room for them. */
  readonly admit: (bytes: number) => Promise<void>;
  /** Awaited now and then in long work; throws to stop. */
  readonly pause: () => Promise<void>;
}

/**
 * Fetches one pack into the store: streamed to a temporary file, checked, indexed, then moved in. A failure
 * leaves the store unchanged. Returns the file of the pack; undefined when it has no new objects.
 */
export async function receivePack(
  incoming: Incoming,
  request: Omit<FetchRequest, 'shallow'>,
): Promise<string | undefined> {
  await incoming.admit(0);
  const shallow = await readShallow(incoming.gitdir);
  const file = join(incoming.gitdir, 'incoming', `${randomUUID()}.pack`);
  try {
    const change = await download(incoming, { ...request, shallow: [...shallow] }, file);
    const boundary = new Set([...shallow, ...change.shallow]);
    checkShallow(boundary.size);
    const { size } = await storage(() => stat(file));
    await incoming.admit(size);
    const lane = size > LARGE_PACK_BYTES ? indexing.large : indexing.small;
    const checksum = await lane(incoming.tenant, () => writeIndex(incoming, file));
    // The boundary grows before the objects arrive and shrinks after: a crash between leaves it too wide, which is safe.
    await writeShallow(incoming.gitdir, boundary);
    const installed = checksum === undefined ? undefined : await install(incoming.gitdir, file, checksum);
    await shrinkShallow(incoming.gitdir, change);
    return installed;
  } finally {
    await Promise.all([file, indexName(file)].map((path) => rm(path, { force: true })));
    // It is in the store or gone; whether there is room for more is asked by whoever fetches next.
    await incoming.admit(0).catch(() => undefined);
  }
}

/** Bytes of a pack that are received between two questions whether there is room for it. */
const ADMITTED_BYTES = 1_048_576;

async function download(incoming: Incoming, request: FetchRequest, file: string): Promise<ShallowChange> {
  const handle: FileHandle = await storage(() => open(file, 'w'));
  try {
    let [received, admitted] = [0, 0];
    return await fetchPack(incoming.transport, request, async (bytes) => {
      await storage(() => handle.writeFile(bytes));
      received += bytes.length;
      if (received - admitted < ADMITTED_BYTES) return;
      admitted = received;
      await incoming.admit(received);
    });
  } finally {
    await handle.close();
  }
}

const LARGE_PACK_BYTES = 1_048_576;

/**
 * Packs of all repositories are indexed one after the other, since each may use the memory that the limits allow; large ones in a queue of their own,
 * since they take long. Tenants take turns: each pack may take seconds, and one of them can have any number.
 */
const indexing = { small: createTurns(1), large: createTurns(1) };

/**
 * Checks a pack and writes its index next to it. Returns its checksum; undefined for one without objects. Bases are looked for in the pack
 * alone, since no thin pack is asked for, and packs are read one by one.
 */
async function writeIndex({ limits, pause }: Incoming, file: string): Promise<string | undefined> {
  // Who waited in vain costs nothing.
  await pause();
  const pack = await storage(() => readFile(file));
  const { count, index } = await indexPack(pack, limits, pause);
  if (count === 0) return undefined;
  await storage(() => writeFile(indexName(file), index));
  return pack.toString('hex', pack.length - 20);
}

/** Moves pack and index into the store; a pack without its index is not looked at. Undefined: the store has this very pack. */
async function install(gitdir: string, file: string, checksum: string): Promise<string | undefined> {
  const target = join(gitdir, 'objects', 'pack', `pack-${checksum}.pack`);
  return storage(async () => {
    const isKnown = await stat(indexName(target)).catch(() => undefined);
    await rename(file, target);
    await rename(indexName(file), indexName(target));
    return isKnown ? undefined : target;
  });
}

/** Takes a pack out of the store. */
async function removePack(pack: string): Promise<void> {
  await storage(async () => {
    for (const path of [indexName(pack), pack]) await rm(path, { force: true });
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
