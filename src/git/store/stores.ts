import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../api/clock.ts';
import { limits as defaults } from '../../api/limits.ts';
import { beyondShare, inMebibytes } from '../../api/slots.ts';
import type { PollResult } from '../../contracts/git.ts';
import { GitError } from '../errors.ts';
import { createListings, type Listings } from '../wire/listings.ts';
import type { Resolved } from '../wire/references.ts';
import type { Address } from '../wire/transport.ts';
import { DEFAULT_PACK_LIMITS, type PackLimits } from './pack/index-pack.ts';
import {
  type BareRepository,
  createRepository,
  DEFAULT_GROWTH_LIMITS,
  type GrowthLimits,
} from './repository.ts';
import { type StoreSize, storage } from './store-directory.ts';

/** Sources with the same key share a store; a Source with another key never reads it. */
interface StoreKey {
  /** As `checkGitUrl` gives it. */
  readonly url: string;
  /** Namespace of the Source. */
  readonly namespace: string;
  /** Where its credentials come from: the name of a Secret in that namespace, the environment, or nowhere. */
  readonly credentials: string;
}

/** One repository, for all Sources that share it. */
export interface Store {
  readonly namespace: string;
  readonly repository: BareRepository;
  readonly listings: Listings;
  /** Where a redirect inside the origin moved it. */
  readonly address: Address;
  /** What the Sources that share it need. */
  readonly uses: Map<string, StoreUse>;
  /** Results of the latest answers of the server, by the records of their references and by the previous commit. */
  readonly seen: Map<string, SharedAnswer>;
  /** How large it was when it was fetched into last, and when it was made smaller; undefined before that. */
  size: StoreSize | undefined;
  /** Bytes of a pack that is being received. */
  incomingBytes: number;
  compactedMs: number | undefined;
  readonly nowMs: () => number;
  /** Limits are taken times this, after a store could not be made smaller. */
  growthFactor: number;
}

/** One answer of the server, and what it means by the commit that was known before (empty: none was). */
interface SharedAnswer {
  readonly target: Resolved;
  readonly results: Map<string, PollResult>;
}

/** What one Source needs of a store. */
export interface StoreUse {
  /** Private name under which the head of its reference is recorded. */
  readonly record: string;
  /** Commits that must stay besides that head; undefined until it has said so. */
  kept: readonly string[] | undefined;
}

/** All stores together. */
interface StoreUsage {
  readonly stores: number;
  readonly packs: number;
  readonly bytes: number;
  /** When one of them was made smaller last, in milliseconds since the epoch. */
  readonly compactedMs: number | undefined;
}

/** A store as one Source has it. */
interface OpenedStore {
  readonly store: Store;
  readonly use: StoreUse;
  readonly openedMs: number;
}

/** The stores of one data directory. No other process may use it at the same time. */
export interface Stores {
  /** The store of a Source (`namespace/name`), which then holds no other one. */
  open(holder: string, key: StoreKey, record: string): OpenedStore;
  /** The Source is gone. */
  forget(holder: string): void;
  /** How much of the disk the stores that are held take, as far as they were read since the start. */
  usage(): StoreUsage;
  /** Removes unused stores from the disk, including those of an earlier run. Throws GitError Storage. */
  sweep(): Promise<void>;
}

/** Where and with what bounds. */
export interface StoresOptions {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly limits?: Partial<PackLimits & GrowthLimits> | undefined;
  /** Bytes that all stores together may take while a namespace with more than its share of them fetches. */
  readonly diskBytes?: number | undefined;
}

/** Opens stores below `<dataDir>/git`; nothing is read yet. */
export function createStores(options: StoresOptions): Stores {
  const { dataDir, clock, limits, diskBytes = defaults.gitDiskBytes } = options;
  const folder = join(dataDir, 'git');
  const stores = new Map<string, Store>();
  const held = new Map<string, string>();

  /** Throws GitError Storage: one namespace must not take the room of all others, or the volume be filled until the pod is evicted. */
  function admit(name: string, namespace: string, size: StoreSize, incomingBytes: number): void {
    const store = stores.get(name);
    if (store) Object.assign(store, { size, incomingBytes });
    const all = [...stores.values()].map((one) => ({
      namespace: one.namespace,
      bytes: (one.size?.bytes ?? 0) + one.incomingBytes,
    }));
    const own = beyondShare(all, namespace, diskBytes);
    if (own === undefined) return;
    throw new GitError(
      'Storage',
      `the repositories of namespace ${namespace} would take ${inMebibytes(own)}, more than its share of the ${inMebibytes(diskBytes)} for all (--git-disk-mib); use fewer or smaller ones`,
    );
  }

  function make(name: string, { namespace }: StoreKey): Store {
    const bounds = { ...DEFAULT_PACK_LIMITS, ...DEFAULT_GROWTH_LIMITS, ...limits };
    return {
      namespace,
      repository: createRepository({
        directory: join(folder, name),
        tenant: namespace,
        packLimits: bounds,
        growth: bounds,
        admit: (size, bytes) => admit(name, namespace, size, bytes),
      }),
      listings: createListings(clock),
      address: { movedTo: undefined },
      uses: new Map(),
      seen: new Map(),
      size: undefined,
      incomingBytes: 0,
      compactedMs: undefined,
      nowMs: clock.nowMs,
      growthFactor: 1,
    };
  }

  function forget(holder: string): void {
    stores.get(held.get(holder) ?? '')?.uses.delete(holder);
    held.delete(holder);
  }

  return {
    open(holder, key, record) {
      const name = storeName(key);
      if (held.get(holder) !== name) forget(holder);
      const store = stores.get(name) ?? make(name, key);
      stores.set(name, store);
      held.set(holder, name);
      const use = { record, kept: store.uses.get(holder)?.kept };
      store.uses.set(holder, use);
      const records = new Set([...store.uses.values()].map((one) => one.record));
      for (const known of store.seen.keys()) if (!records.has(known)) store.seen.delete(known);
      return { store, use, openedMs: clock.nowMs() };
    },
    forget,
    usage: () => usageOf([...stores.values()]),
    async sweep() {
      for (const [name, store] of [...stores]) {
        const isRemoved = await store.repository.removeIf(() => store.uses.size === 0);
        // It may have been opened again meanwhile, and is made anew at its first use.
        if (isRemoved && store.uses.size === 0) stores.delete(name);
      }
      const names = await storage(() => readdir(folder).catch(() => []));
      // A store that is opened in between is in the table before its directory exists.
      for (const name of names) {
        const [, store] = storePattern.exec(name) ?? [];
        if (store !== undefined && !stores.has(store))
          await storage(() => rm(join(folder, name), { recursive: true, force: true }));
      }
    },
  };
}

function usageOf(stores: readonly Store[]): StoreUsage {
  const sum = (of: (size: StoreSize) => number) =>
    stores.reduce((total, { size }) => total + (size ? of(size) : 0), 0);
  const times = stores.flatMap(({ compactedMs }) => compactedMs ?? []);
  return {
    stores: stores.length,
    packs: sum(({ packs }) => packs),
    bytes: sum(({ bytes }) => bytes),
    compactedMs: times.length > 0 ? Math.max(...times) : undefined,
  };
}

/** A hash: nothing of a URL or a name reaches the file system. */
export function storeName({ url, namespace, credentials }: StoreKey): string {
  const text = JSON.stringify([url, namespace, credentials]);
  return `${createHash('sha256').update(text).digest('hex').slice(0, 40)}.git`;
}

const storePattern = /^([0-9a-f]{40}\.git)(\.new|\.old)?$/;
