// Archives whose bytes depend on the files alone.
import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { create } from 'tar';

/** The time of every file, as in packages of npm: archives of one commit are the same whenever they are made. */
const fileTime = new Date('1985-10-26T08:15:00Z');

/**
 * Packs the files of a folder as .tar.gz, below `prefix`. Who may read them does not depend on the umask.
 * @param {string} folder
 * @param {string} prefix
 * @param {string} file what is written
 */
export async function archive(folder, prefix, file) {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
  for (const path of paths) {
    const { mode } = statSync(join(folder, path));
    chmodSync(join(folder, path), mode & 0o100 ? 0o755 : 0o644);
  }
  await create({ cwd: folder, file, prefix, gzip: true, portable: true, mtime: fileTime }, paths);
}
