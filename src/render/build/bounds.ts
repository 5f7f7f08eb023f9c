import { statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What a renderer's process may use. */
export interface ProcessLimits {
  readonly renderMs: number;
  readonly renderOutputBytes: number;
  readonly renderMemoryBytes: number;
}

/** Threads of a Go program that run at once. */
export const GO_THREADS = 2;

/** Open files of one program. */
const mostFiles = 256;

/**
 * The command line that starts a program within bounds that the system keeps, also when this process is gone: a program that never ends is
 * then ended by its CPU time. `prlimit` is in the image, a shell wherever there is no prlimit (macOS); the memory is left to Go's own limit there.
 */
export function boundedCommand(program: string, args: readonly string[], limits: ProcessLimits): string[] {
  const cpuSeconds = cpuSecondsFor(limits);
  const prlimit = findProgram('prlimit');
  if (prlimit) {
    const memory = `--data=${limits.renderMemoryBytes}`;
    const bounds = [`--cpu=${cpuSeconds}`, memory, '--core=0', `--nofile=${mostFiles}`];
    return [prlimit, ...bounds, '--', program, ...args];
  }
  const shell = findProgram('sh');
  if (!shell) return [program, ...args];
  const script = `ulimit -t ${cpuSeconds} && ulimit -c 0 && ulimit -n ${mostFiles} && exec "$0" "$@"`;
  return [shell, '-c', script, program, ...args];
}

/** More than all its threads can use in its time, so that the clock decides while somebody looks at it. */
function cpuSecondsFor({ renderMs }: ProcessLimits): number {
  return Math.ceil((renderMs / 1000) * GO_THREADS) + 1;
}

/** Absolute path of a program on PATH. */
export function findProgram(name: string, path = process.env.PATH ?? ''): string | undefined {
  const candidates = path
    .split(delimiter)
    .filter(Boolean)
    .map((folder) => join(folder, name));
  return candidates.find((candidate) => statSync(candidate, { throwIfNoEntry: false })?.isFile());
}
