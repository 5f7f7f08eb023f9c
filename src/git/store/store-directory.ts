import fs from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as git from 'isomorphic-git';
import { GitError } from '../errors.ts';

/** The directory next to the store in which a replacement is built. */
export function freshDirectory(directory: string): string {
  return `${directory}.new`;
}

/** Makes the directory an empty bare store unless it is one already; what a crash or a full disk left unfinished is removed. */
export async function prepareStore(directory: string): Promise<void> {
  await storage(async () => {
    const old = `${directory}.old`;
    // A crash between the two renames of a swap leaves only the old store.
    if (!(await exists(directory)) && (await exists(old))) await rename(old, directory);
    const left = [old, freshDirectory(directory), join(directory, 'incoming')];
    await Promise.all(left.map(removed));
    if (!(await exists(join(directory, 'HEAD')))) await emptyStore(directory);
    for (const folder of ['incoming', join('objects', 'pack')])
      await mkdir(join(directory, folder), { recursive: true });
  });
}

/** Makes the directory an empty bare store, whatever it was. */
export async function emptyStore(directory: string): Promise<void> {
  await storage(async () => {
    await removed(directory);
    await mkdir(join(directory, 'incoming'), { recursive: true });
    await mkdir(join(directory, 'objects', 'pack'), { recursive: true });
    await git.init({ fs, gitdir: directory, bare: true });
  });
}

/** Puts the finished replacement into the store's place. */
export async function swapStore(directory: string): Promise<void> {
  await storage(async () => {
    const old = `${directory}.old`;
    await removed(old);
    await rename(directory, old);
    await rename(freshDirectory(directory), directory);
    await removed(old);
  });
}

/** Removes a store with all that belongs to it. */
export async function removeStore(directory: string): Promise<void> {
  await storage(async () => {
    for (const path of [freshDirectory(directory), `${directory}.old`, directory]) await removed(path);
  });
}

/** How much a store grew. */
export interface StoreSize {
  readonly packs: number;
  readonly bytes: number;
  readonly largestPackBytes: number;
}

/** Counts the packs; loose objects are never written. */
export async function storeSize(directory: string): Promise<StoreSize> {
  const folder = join(directory, 'objects', 'pack');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.pack'));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return {
    packs: names.length,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    largestPackBytes: Math.max(0, ...sizes),
  };
}

/** The commits whose parents the store does not hold. */
export async function readShallow(directory: string): Promise<Set<string>> {
  const text = await readFile(join(directory, 'shallow'), 'utf8').catch(() => '');
  return new Set(text.split('\n').filter((line) => /^[0-9a-f]{40}$/.test(line)));
}

/** Replaces the shallow boundary in one step, also where the power fails: without it the store would claim all of history. */
export async function writeShallow(directory: string, oids: ReadonlySet<string>): Promise<void> {
  await storage(async () => {
    const file = join(directory, 'shallow');
    await writeFile(`${file}.new`, [...oids].map((oid) => `${oid}\n`).join(''), { flush: true });
    await rename(`${file}.new`, file);
  });
}

/** Runs file work; a failure of the disk becomes GitError Storage (the operator must act). */
export async function storage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GitError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new GitError(
      'Storage',
      `the data directory cannot be used (${code}); check its free space and rights`,
      error,
    );
  }
}

function removed(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true });
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
