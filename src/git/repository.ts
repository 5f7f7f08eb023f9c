import fs from 'node:fs';
import git from 'isomorphic-git';
import { compactInto } from './compact.ts';
import { GitError } from './errors.ts';
import { receivePack } from './incoming.ts';
import { createMutex } from './mutex.ts';
import { createReader, hasWholeCommit, type ObjectReader } from './objects.ts';
import type { PackLimits } from './pack-check.ts';
import { createPause } from './pause.ts';
import {
  emptyStore,
  freshDirectory,
  prepareStore,
  removeStore,
  type StoreSize,
  storage,
  storeSize,
  swapStore,
} from './store-directory.ts';
import type { GitTransport } from './transport.ts';

/** When a store is built anew. */
export interface GrowthLimits {
  /** Default 50. */
  readonly maxPacks: number;
  /** Default 200 MiB; a repository whose first pack alone is large gets three times that pack. */
  readonly maxStoreBytes: number;
}

/** Bounds that hold unless the operator sets others. */
export const DEFAULT_GROWTH_LIMITS: GrowthLimits = { maxPacks: 50, maxStoreBytes: 200 * 1_048_576 };

/** Settings of one repository. */
export interface RepositoryOptions {
  readonly directory: string;
  readonly packLimits: PackLimits;
  readonly growth: GrowthLimits;
}

/** Who works: what is missing is fetched with the credentials of the Source whose work it is. */
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
export interface Wanted {
  readonly commit: string;
  readonly want?: string;
  /** History length for a commit asked by its id; absent: everything since the recorded commits. */
  readonly depth?: number;
}

/** A bare store on disk and its server. Never a checkout. */
export interface Repository {
  /**
   * Runs `work` alone on this repository. When the store turns out to be damaged, `work` runs once more on a fresh
   * store, which replaces the damaged one only if that succeeds.
   */
  run<T>(access: Access, work: (session: Session) => Promise<T>): Promise<T>;
  /**
   * When the store outgrew `factor` times its limits, a fresh one with only these commits and records replaces it, without the network.
   * A crash at any moment leaves one of the two whole. Throws GitError Corrupt and Storage; the store then is as it was.
   */
  compactIfGrown(
    access: Access,
    factor: number,
    needs: (session: Session) => Promise<Needs>,
  ): Promise<Compaction>;
  /** Removes the store from the disk if that is still wanted when everything before it is done. */
  removeIf(isUnused: () => boolean): Promise<boolean>;
}

/** What must survive a compaction. */
export interface Needs {
  readonly commits: readonly string[];
  /** Commits by the private names under which they stay recorded. */
  readonly records: ReadonlyMap<string, string>;
}

/** How large the store is now, and whether it was replaced. */
export interface Compaction {
  readonly size: StoreSize;
  readonly isDone: boolean;
}

const RECORDS = 'refs/holdfast';

/** Opens nothing yet: the store is made at the first use. */
export function createRepository(options: RepositoryOptions): Repository {
  const { directory } = options;
  const mutex = createMutex();

  async function onFresh<T>(access: Access, work: (session: Session) => Promise<T>): Promise<T> {
    const fresh = freshDirectory(directory);
    await emptyStore(fresh);
    const result = await inSession(fresh, access, work);
    await swapStore(directory);
    return result;
  }

  async function compact(session: OpenSession, { commits, records }: Needs): Promise<boolean> {
    const fresh = freshDirectory(directory);
    await emptyStore(fresh);
    const whole = new Set(await compactInto(fresh, session.reader, commits, session.pause));
    if (whole.size === 0) return false;
    for (const [name, commit] of records) if (whole.has(commit)) await writeRecord(fresh, name, commit);
    await session.close();
    await swapStore(directory);
    return true;
  }

  async function inSession<T>(
    gitdir: string,
    access: Access,
    work: (session: OpenSession) => Promise<T>,
  ): Promise<T> {
    const session = createSession(options, gitdir, access);
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  }

  return {
    run: (access, work) =>
      mutex.run(async () => {
        await prepareStore(directory);
        try {
          return await inSession(directory, access, work);
        } catch (error) {
          if (!(error instanceof GitError) || error.code !== 'Corrupt') throw error;
          return await onFresh(access, work);
        }
      }),
    compactIfGrown: (access, factor, needs) =>
      mutex.run(async () => {
        await prepareStore(directory);
        const before = await storeSize(directory);
        if (!hasOutgrown(before, options.growth, factor)) return { size: before, isDone: false };
        const isDone = await inSession(directory, access, async (session) =>
          compact(session, await needs(session)),
        );
        return { size: await storeSize(directory), isDone };
      }),
    removeIf: (isUnused) =>
      mutex.run(async () => {
        if (!isUnused()) return false;
        await removeStore(directory);
        return true;
      }),
  };
}

function hasOutgrown(
  { packs, bytes, largestPackBytes }: StoreSize,
  growth: GrowthLimits,
  factor: number,
): boolean {
  const maxBytes = Math.max(growth.maxStoreBytes, 3 * largestPackBytes);
  return packs > growth.maxPacks * factor || bytes > maxBytes * factor;
}

interface OpenSession extends Session {
  close(): Promise<void>;
}

function createSession(
  options: RepositoryOptions,
  gitdir: string,
  { openTransport, signal }: Access,
): OpenSession {
  const pause = createPause(signal);
  let reader = createReader(gitdir);

  async function fetch(want: string, depth?: number): Promise<void> {
    await pause();
    const transport = await openTransport(signal);
    const haves = await listHaves(reader);
    await receivePack({ gitdir, transport, limits: options.packLimits, pause }, { want, haves, depth });
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
      if (depth === undefined) await fetchUpdate(fetch, want, (await listHaves(reader)).length === 0);
      else await fetch(want, depth);
      if (await hasWholeCommit(reader, commit)) return;
      throw new GitError(
        'NotFound',
        `the Git server reported success but did not send commit ${commit}; it may be gone`,
      );
    },
    deepen: (commit, depth) => fetch(commit, depth),
    recorded: (name) => git.resolveRef({ fs, gitdir, ref: `${RECORDS}/${name}` }).catch(() => undefined),
    async records() {
      const names = await git.listRefs({ fs, gitdir, filepath: RECORDS }).catch(() => []);
      const found = names.map(async (name) => {
        return [name, await git.resolveRef({ fs, gitdir, ref: `${RECORDS}/${name}` })] as const;
      });
      return new Map(await Promise.all(found));
    },
    record: (name, commit) => writeRecord(gitdir, name, commit),
    close: () => reader.close(),
  };
}

async function writeRecord(gitdir: string, name: string, commit: string): Promise<void> {
  await storage(() => git.writeRef({ fs, gitdir, ref: `${RECORDS}/${name}`, value: commit, force: true }));
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
  const names = await git.listRefs({ fs, gitdir: reader.gitdir, filepath: RECORDS }).catch(() => []);
  const haves = new Set<string>();
  // Followed heads (`poll/`) come before commits fetched by id (`kept/`): they spare the most.
  for (const name of names.sort().reverse().slice(0, MAX_HAVES)) {
    const oid = await git.resolveRef({ fs, gitdir: reader.gitdir, ref: `${RECORDS}/${name}` });
    if (await hasWholeCommit(reader, oid)) haves.add(oid);
  }
  return [...haves];
}
