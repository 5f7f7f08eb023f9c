/** Pages played by a shell: each block in the folder where the one before has left it. */
import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { outputPattern, type Step } from './readme.ts';

const run = promisify(execFile);

/** Where a page is played. */
export interface Stage {
  /** In messages, with the line. */
  readonly page: string;
  /** For what the playing itself needs. */
  readonly home: string;
  /** Where the shell is. */
  folder: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A program on the path that is these words. */
export async function script(path: string, lines: string): Promise<void> {
  await writeFile(path, `#!/bin/bash\n${lines}\n`);
  await chmod(path, 0o755);
}

/** Runs a block and compares what it prints. Throws with all of its output when a command fails. */
export async function playStep(stage: Stage, { commands, output, line }: Step): Promise<void> {
  const where = `${stage.page}, line ${line}`;
  const place = join(stage.home, 'place');
  const text = `set -euo pipefail\n${commands}\npwd > ${place}\n`;
  const shell = await run('bash', ['-c', text], { cwd: stage.folder, env: stage.env }).catch(
    (error: { stdout?: string; stderr?: string }) => {
      throw new Error(`${where} failed: ${commands}\n${error.stdout}\n${error.stderr}`);
    },
  );
  stage.folder = (await readFile(place, 'utf8')).trim();
  if (output !== undefined) expect(shell.stdout, where).toMatch(outputPattern(output));
}
