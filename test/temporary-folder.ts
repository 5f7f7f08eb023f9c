import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

/** Names the folder of a run in the environment: a test may set TMPDIR. */
export const runFolderVariable = 'HOLDFAST_TEST_RUN_FOLDER';

/** Gives a run a folder of its own for temporary files, and removes it with whatever tests left in it; what a failed test wrote stays. */
export function setup({ vitest }: TestProject): () => void {
  const before = process.env.TMPDIR;
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-run-'));
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
