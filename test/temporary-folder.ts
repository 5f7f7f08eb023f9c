import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

/** Names the folder of a run in the environment: a test may set TMPDIR. */
export const runFolderVariable = 'HOLDFAST_TEST_RUN_FOLDER';

/** Gives a run a folder of its own for temporary files, and removes it with whatever tests left in it; what a failed test wrote stays. */
export function setup({ vitest }: TestProject): () => void {
  const before = process.env.TMPDIR;
  const folder = createRunFolder('holdfast-run-');
  process.env.TMPDIR = folder;
  process.env[runFolderVariable] = folder;
  return () => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    delete process.env[runFolderVariable];
    if (vitest.state.getCountOfFailedTests() > 0) console.log(`temporary files kept in ${folder}`);
    // A process that a test left behind may still write.
    else rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
}

/**
 * A new folder for the files of one run: in memory where Linux has room for them and programs may be started from there, unless TMPDIR says where.
 * Tests create and remove files by the thousand, and ext4 gives out no inode that was freed within the last five seconds: it searches past all of them.
 */
export function createRunFolder(prefix: string): string {
  if (process.env.TMPDIR === undefined && hasRoom(memoryFolder)) {
    const folder = mkdtempSync(join(memoryFolder, prefix));
    if (startsPrograms(folder)) return folder;
    rmSync(folder, { recursive: true });
  }
  return mkdtempSync(join(tmpdir(), prefix));
}

const memoryFolder = '/dev/shm';
/** Of `statfs(2)`. */
const TMPFS_TYPE = 0x01021994;
/** A whole run needs less than a tenth of it. */
const ROOM_BYTES = 8 * 2 ** 30;

function hasRoom(folder: string): boolean {
  try {
    const { type, bavail, bsize } = statfsSync(folder);
    return type === TMPFS_TYPE && Math.min(bavail * bsize, process.availableMemory()) > ROOM_BYTES;
  } catch {
    return false;
  }
}

/** Where it is mounted with `noexec`, as in most containers, tests could not start what they write. */
function startsPrograms(folder: string): boolean {
  const path = join(folder, 'program');
  writeFileSync(path, '#!/bin/sh\n', { mode: 0o700 });
  const { status } = spawnSync(path);
  rmSync(path);
  return status === 0;
}
