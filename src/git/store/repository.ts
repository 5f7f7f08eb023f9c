import { createTurns } from '../../api/turns.ts';
import { GitError } from '../errors.ts';
import { compactInto } from './compact.ts';
import type { ObjectReader } from './objects.ts';
import type { PackLimits } from './pack/index-pack.ts';
import { type Access, createSession, type OpenSession, type Session, writeRecord } from './session.ts';
import {
  emptyStore,
  freshDirectory,
  prepareStore,
  removeStore,
  type StoreSize,
  storeSize,
  swapStore,
} from './store-directory.ts';

/** When a store is compacted. */
export interface GrowthLimits {
  /** Default 50. */
  readonly maxPacks: number;
  /** Default 200 MiB; a repository whose first pack alone is large gets three times that pack. */
  readonly maxStoreBytes: number;
}

/** Bounds that hold unless the operator sets others. */
export const DEFAULT_GROWTH_LIMITS: GrowthLimits = { maxPacks: 50, maxStoreBytes: 200 * 1_048_576 };

/** Settings of one repository. */
interface RepositoryOptions {
  readonly directory: string;
  /** Whose it is: tenants take turns. */
  readonly tenant: string;
  readonly packLimits: PackLimits;
  readonly growth: GrowthLimits;
  /** Called with the size of the store and the bytes of a pack that is received beside it. Throws GitError when that is too much. */
  readonly admit: (size: StoreSize, incomingBytes: number) => void;
}

/** A bare store on disk and its server. Never a checkout. */
export interface BareRepository {
  /**
   * Runs `work` alone on this repository. When the store turns out to be damaged, `work` runs once more on a fresh
   * store, which replaces the damaged one only if that succeeds. If the fresh store is damaged too, it is not fetched again for an hour.
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
  /** Removes the store from the disk if it is still unused when all earlier work has ended. */
  removeIf(isUnused: () => boolean): Promise<boolean>;
}

/** What must survive a compaction. */
export interface Needs {
  readonly commits: readonly string[];
  /** Commits by the private names under which they stay recorded. */
  readonly records: ReadonlyMap<string, string>;
}

/** How large the store is now, and whether it was replaced. */
interface Compaction {
  readonly size: StoreSize;
  readonly isDone: boolean;
}

/** Damage that a fresh store did not repair is fetched again after this time. */
const REFETCH_MS = 60 * 60 * 1000;
const MAX_LASTING = 100;

/** Opens nothing yet: the store is made at the first use. */
export function createRepository(options: RepositoryOptions): BareRepository {
  const { directory } = options;
  const incoming = incomingOf(options);
  const turn = createTurns(1);
  let waiting = 0;
  /** Left open for the next caller in the queue: otherwise each of a thousand Sources that read one store would open its packs again. */
  let left: ObjectReader | undefined;

  /** Runs work strictly one after the other, in the order of the calls; a failure does not stop the next. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    waiting += 1;
    return turn('', () => {
      waiting -= 1;
      return work();
    });
  }

  async function closeLeft(): Promise<void> {
    await left?.close();
    left = undefined;
  }

  /** Works on the store as it is. */
  async function inStore<T>(access: Access, work: (session: OpenSession) => Promise<T>): Promise<T> {
    if (!left) await prepareStore(directory);
    const session = createSession(directory, incoming, access, left);
    left = undefined;
    try {
      const result = await work(session);
      if (waiting > 0) left = session.reader;
      return result;
    } finally {
      if (!left) await session.close();
    }
  }

  async function compact(session: OpenSession, { commits, records }: Needs): Promise<boolean> {
    const fresh = freshDirectory(directory);
    await emptyStore(fresh);
    const whole = new Set(await compactInto(fresh, session.reader, commits, session.pause));
    if (whole.size === 0 && commits.length > 0) return false;
    for (const [name, commit] of records) if (whole.has(commit)) await writeRecord(fresh, name, commit);
    await session.close();
    await swapStore(directory);
    return true;
  }

  const lasting = createLastingDamage(directory);

  async function onFresh<T>(
    damage: GitError,
    access: Access,
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    lasting.refuse(damage);
    const fresh = freshDirectory(directory);
    try {
      await emptyStore(fresh);
      const session = createSession(fresh, incoming, access);
      const result = await work(session).finally(() => session.close());
      await swapStore(directory);
      return result;
    } catch (error) {
      throw error instanceof GitError && error.code === 'Corrupt' ? lasting.note(error) : error;
    }
  }

  return {
    run: (access, work) =>
      alone(async () => {
        try {
          return await inStore(access, work);
        } catch (error) {
          if (!(error instanceof GitError) || error.code !== 'Corrupt') throw error;
          return await onFresh(error, access, work);
        }
      }),
    compactIfGrown: (access, factor, needs) =>
      alone(async () => {
        await closeLeft();
        await prepareStore(directory);
        const before = await storeSize(directory);
        if (!hasOutgrown(before, options.growth, factor)) return { size: before, isDone: false };
        const session = createSession(directory, incoming, access);
        const isDone = await needs(session)
          .then((needed) => compact(session, needed))
          .finally(() => session.close());
        return { size: await storeSize(directory), isDone };
      }),
    removeIf: (isUnused) =>
      alone(async () => {
        await closeLeft();
        if (!isUnused()) return false;
        await removeStore(directory);
        return true;
      }),
  };
}

/** How packs are received. */
function incomingOf({ directory, tenant, packLimits, admit }: RepositoryOptions) {
  return {
    tenant,
    limits: packLimits,
    async admit(bytes: number) {
      // A store that is damaged is about to be replaced.
      const size = await storeSize(directory).catch(() => ({ packs: 0, bytes: 0, largestPackBytes: 0 }));
      admit(size, bytes);
    },
  };
}

/** Damage that a fresh store has too: the server sends it, and would send it again at each poll. */
function createLastingDamage(directory: string) {
  const known = new Map<string, { readonly error: GitError; readonly sinceMs: number }>();
  return {
    /** Throws the known error for this damage. */
    refuse({ message }: GitError): void {
      const found = known.get(message);
      if (found && performance.now() - found.sinceMs < REFETCH_MS) throw found.error;
    },
    /** Remembers a damage of the fresh store, and returns the error for users. */
    note(damage: GitError): GitError {
      const message = damage.message.replaceAll(freshDirectory(directory), directory);
      const what = message.replace(/ and is fetched again$/, '');
      const error = new GitError(
        'Corrupt',
        `the Git server sends objects that cannot be used: ${what}; push a commit that does without them`,
        damage,
      );
      if (known.size >= MAX_LASTING) known.clear();
      known.set(message, { error, sinceMs: performance.now() });
      return error;
    },
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
