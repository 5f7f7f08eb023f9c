import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Files by their path relative to the folder, with `/`. */
export type FolderFiles = ReadonlyMap<string, Uint8Array>;

/**
 * Calls `work` with a new folder that only this process can read and that holds these files, and takes it away afterwards. The files may be
 * decrypted ones. Throws RangeError for a path that would leave the folder.
 */
export async function inPrivateFolder<T>(
  base: string,
  files: FolderFiles,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  await mkdir(base, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(base, 'render-'));
  try {
    const made = new Set<string>();
    for (const [path, bytes] of files) {
      const target = join(folder, checked(path));
      const parent = dirname(target);
      if (!made.has(parent)) await mkdir(parent, { recursive: true, mode: 0o700 });
      made.add(parent);
      await writeFile(target, bytes, { mode: 0o600, flag: 'wx' });
    }
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Paths come from Git's trees, entry by entry; this is the second lock on the same door. */
function checked(path: string): string {
  const segments = path.split('/');
  const wrong = segments.some((segment) => ['', '.', '..'].includes(segment) || /[\0\\]/.test(segment));
  if (wrong) throw new RangeError(`the path ${JSON.stringify(path)} is not safe to write`);
  return path;
}
