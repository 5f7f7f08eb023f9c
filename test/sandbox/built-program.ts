import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { runFolderVariable } from '../temporary-folder.ts';

const script = join(import.meta.dirname, '../../scripts/build.mjs');

/** One process of the built program. */
export interface Run {
  readonly pid: number;
  output(): string;
  stop(signal: NodeJS.Signals): void;
  /** Its exit code; null when a signal ended it. */
  readonly ended: Promise<number | null>;
}

/** The program as it is shipped, in a folder of its own. */
export interface BuiltProgram {
  /** For what a test writes. */
  readonly folder: string;
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Run;
  /** Ends with SIGKILL what still runs. */
  killAll(): void;
  remove(): Promise<void>;
}

/** A program that can be built: a name of its own, and what makes it in the folder that it is given. */
export interface Build {
  readonly name: string;
  into(folder: string): Promise<unknown>;
}

const current: Build = {
  name: 'current',
  into: (folder) => promisify(execFile)(process.execPath, [script, folder]),
};

/** The folder with the program: what `npm test` built for all suites, or what the file of a run builds that asks first; the others wait for it. */
async function builtOnce({ name, into }: Build): Promise<string> {
  if (name === current.name && process.env.HOLDFAST_TEST_PROGRAM) return process.env.HOLDFAST_TEST_PROGRAM;
  const place = join(process.env[runFolderVariable] ?? '', `program-${name}`);
  const built = join(place, 'dist');
  const isFirst = await mkdir(place).then(
    () => true,
    () => false,
  );
  if (isFirst) {
    await into(join(place, 'unfinished'));
    await rename(join(place, 'unfinished'), built);
  }
  await vi.waitUntil(() => existsSync(built), { timeout: 600_000, interval: 100 });
  return built;
}

/** The program of this tree, or another one. What is in `dist` is for reading: other files of the run use it, too. */
export async function buildProgram(build = current): Promise<BuiltProgram> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-program-'));
  await symlink(await builtOnce(build), join(folder, 'dist'));
  const running = new Set<() => void>();
  return {
    folder,
    run(args, env = {}) {
      const child = spawn(process.execPath, [join(folder, 'dist/main.js'), ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...env },
      });
      let text = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
      running.add(() => child.kill('SIGKILL'));
      return {
        pid: child.pid ?? 0,
        output: () => text,
        stop: (signal) => child.kill(signal),
        ended: new Promise((resolve) => child.on('close', resolve)),
      };
    },
    killAll() {
      for (const kill of running) kill();
      running.clear();
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
