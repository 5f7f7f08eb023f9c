import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const build = join(import.meta.dirname, '../../scripts/build.mjs');

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

/** Builds it, or what `buildInto` makes of the folder that it is given. */
export async function buildProgram(
  buildInto = (folder: string): Promise<unknown> => promisify(execFile)(process.execPath, [build, folder]),
): Promise<BuiltProgram> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-program-'));
  await buildInto(join(folder, 'dist'));
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
