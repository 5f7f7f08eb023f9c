import { createHash } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { limits } from '../../api/limits.ts';
import { createTurns, type Turn } from '../../api/turns.ts';
import type { Builder, Builders } from './builder.ts';
import { findProgram, inPrivateFolder, runProcess } from './process.ts';

/** Where the programs are, as far as they were given. */
export interface ProgramPaths {
  /** Path of the program, or undefined to look for it on PATH. */
  readonly kustomize?: string | undefined;
  readonly helm?: string | undefined;
}

/** Finds the programs. `workFolder`: where private folders are made; what a killed process left there is taken away. */
export function findBuilders(paths: ProgramPaths, workFolder: string): Builders {
  rmSync(workFolder, { recursive: true, force: true });
  const turn = createTurns(parallelRuns);
  const find = (name: 'kustomize' | 'helm', versionArgs: readonly string[]) => {
    const program = paths[name] ?? findProgram(name);
    return program === undefined ? undefined : createBuilder(program, versionArgs, { workFolder, turn });
  };
  return {
    kustomize: find('kustomize', ['version']),
    helm: find('helm', ['version', '--template', '{{.Version}}']),
  };
}

/** Programs at once, of all Sources: each may use its whole memory. */
const parallelRuns = 2;

interface Place {
  readonly workFolder: string;
  readonly turn: Turn;
}

function createBuilder(
  program: string,
  versionArgs: readonly string[],
  { workFolder, turn }: Place,
): Builder {
  let version: Promise<string> | undefined;
  const run: Builder['run'] = (args, files, signal, tenant = '') =>
    turn(tenant, async () => {
      // Who waited in vain costs nothing.
      signal.throwIfAborted();
      return inPrivateFolder(workFolder, files, (folder) =>
        runProcess({ program, args, folder, limits, signal }),
      );
    });

  async function ask(): Promise<string> {
    const result = await run(versionArgs, new Map(), new AbortController().signal).catch(() => undefined);
    if (!result) throw new Error(`${basename(program)} cannot be started; check that it is an executable`);
    if (!result.ok) throw new Error(`${basename(program)} cannot be run (${result.reason})`);
    const { size, mtimeMs } = statSync(program);
    // Builds of one version may differ.
    return createHash('sha256').update(`${result.output} ${size} ${mtimeMs}`).digest('hex');
  }

  return {
    run,
    version() {
      version ??= ask().catch((error: unknown) => {
        version = undefined;
        throw error;
      });
      return version;
    },
  };
}

/** Folder below the data directory in which renderers work. */
export function workFolderIn(dataDirectory: string): string {
  return join(dataDirectory, 'render');
}
