import { execFile, spawnSync } from 'node:child_process';
import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Build } from './built-program.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** The version that upgrades come from: the commit of the last release, or what stands for it while there is none. Renewed with each release. */
const previousCommit = 'e2cf0e3ecf961ab118feaa4461d59b4dc62f6a93';

/** Whether this clone reaches back to it; a shallow one need not. */
export const hasPrevious =
  spawnSync('git', ['cat-file', '-e', `${previousCommit}^{commit}`], { cwd: root }).status === 0;

/** Built from the history, with the packages of today; not in a clone that does not reach back so far. */
export const previousVersion: Build = { name: 'previous', into: buildPrevious };

async function buildPrevious(folder: string): Promise<void> {
  const source = `${folder}-source`;
  await mkdir(source, { recursive: true });
  const archive = `${source}.tar`;
  await run('git', ['archive', '--output', archive, previousCommit], { cwd: root });
  await run('tar', ['-xf', archive, '-C', source]);
  await symlink(join(root, 'node_modules'), join(source, 'node_modules'));
  await run(process.execPath, [join(source, 'scripts/build.mjs'), folder]);
  await Promise.all([archive, source].map((path) => rm(path, { recursive: true })));
}
