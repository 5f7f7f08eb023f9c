import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import type { Outcome, Task } from './child.ts';

/** Reads hostile input in a child process, one thing after the other. */
export interface HostileReader {
  /** Its home, working directory and folder for temporary files: all that it may write to. */
  readonly root: string;
  read(task: Task): Promise<Outcome>;
  close(): void;
}

/** Far above what each takes, so that a busy machine does not decide. */
export const MOST_CPU_SECONDS = 5;
/** Most memory that one of them may take. */
export const MOST_BYTES = 256 * 1_048_576;

/** Bundles test/hostile/child.ts, since Node itself reads no TypeScript, and starts it. */
export async function startHostileReader(): Promise<HostileReader> {
  const program = resolve(`node_modules/.cache/holdfast/hostile-${process.pid}.mjs`);
  await build({
    entryPoints: [resolve(import.meta.dirname, 'child.ts')],
    outfile: program,
    ...{ bundle: true, platform: 'node', format: 'esm', packages: 'external', logLevel: 'silent' },
  });
  const root = mkdtempSync(join(tmpdir(), 'holdfast-hostile-'));
  mkdirSync(join(root, 'work'));
  const child = fork(program, {
    cwd: join(root, 'work'),
    env: { HOME: root, TMPDIR: root, PATH: '', MALLOC_ARENA_MAX: '2' },
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return {
    root,
    read: (task) => answerOf(child, task),
    close() {
      child.kill();
      rmSync(root, { recursive: true, force: true });
      rmSync(program, { force: true });
    },
  };
}

function answerOf(child: ChildProcess, task: Task): Promise<Outcome> {
  return new Promise((answer, fail) => {
    const died = (code: number | null) => fail(new Error(`it died (${code}) of ${JSON.stringify(task)}`));
    child.once('exit', died);
    child.once('message', (outcome) => {
      child.off('exit', died);
      answer(outcome as Outcome);
    });
    child.send(task);
  });
}
