import { spawn, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';

/** One run of a program. */
interface ProcessRun {
  readonly program: string;
  readonly args: readonly string[];
  /** The only folder that the program gets. */
  readonly folder: string;
  readonly limits: ProcessLimits;
  readonly signal: AbortSignal;
}

/** What it printed, or why there is nothing: `failed` carries its error output. */
export type ProcessResult =
  | { readonly ok: true; readonly output: string }
  | {
      readonly ok: false;
      readonly reason: 'time' | 'output' | 'memory' | 'failed';
      readonly errorOutput: string;
    };

/** Characters of a failing program's output that are reported. */
const maxErrorCharacters = 64 * 1024;

/**
 * Runs a program with nothing of our environment, without standard input, and with limits on time, output and memory. Throws the signal's
 * reason, and Node's error when the program cannot be started.
 */
export async function runProcess(run: ProcessRun): Promise<ProcessResult> {
  run.signal.throwIfAborted();
  const [program = '', ...args] = boundedCommand(run.program, run.args, run.limits);
  const child = spawn(program, args, {
    cwd: run.folder,
    env: environmentOf(run),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  lowerPriority(child.pid);
  let cause: 'time' | 'output' | undefined;
  const end = (why: typeof cause) => {
    cause ??= why;
    child.kill('SIGKILL');
  };
  const output = hold(child.stdout, run.limits.renderOutputBytes, () => end('output'));
  const errorOutput = hold(child.stderr, maxErrorCharacters);
  const timer = setTimeout(() => end('time'), run.limits.renderMs);
  const startedMs = performance.now();
  const abort = () => child.kill('SIGKILL');
  run.signal.addEventListener('abort', abort, { once: true });
  try {
    const [code, endedBy] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (...end) => resolve(end));
    });
    run.signal.throwIfAborted();
    const text = errorOutput().slice(0, maxErrorCharacters);
    if (cause) return { ok: false, reason: cause, errorOutput: text };
    if (code === 0) return { ok: true, output: output() };
    return {
      ok: false,
      reason: reasonOf(run, { endedBy, text, tookMs: performance.now() - startedMs }),
      errorOutput: text,
    };
  } finally {
    clearTimeout(timer);
    run.signal.removeEventListener('abort', abort);
  }
}

/** Killed, and not by us: by the system, where the processor time or the memory of a container is used up. Only what ran for long can be out of time. */
function reasonOf(
  { limits }: ProcessRun,
  { endedBy, text, tookMs }: { endedBy: NodeJS.Signals | null; text: string; tookMs: number },
): 'time' | 'memory' | 'failed' {
  if (outOfMemory.test(text)) return 'memory';
  if (endedBy === 'SIGXCPU') return 'time';
  if (endedBy !== 'SIGKILL') return 'failed';
  return tookMs * GO_THREADS >= limits.renderProcessorSeconds * 1000 ? 'time' : 'memory';
}

/** Rendering can wait; serving requests and renewing the Lease cannot. A process that has ended already is no error. */
function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It runs as it was started.
  }
}

/** Collects a stream, up to one chunk more than `mostBytes`; the rest is read and dropped, and `over` is called for each chunk of it. */
function hold(stream: Readable, mostBytes: number, over?: () => void): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (bytes <= mostBytes) chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > mostBytes) over?.();
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

const outOfMemory = /out of memory|cannot allocate memory|failed to create new OS thread/;

/** Kustomize and helm are Go programs: both settings are Go's. The proxies lead nowhere: nothing that is rendered comes from the network. */
function environmentOf({ folder, limits }: ProcessRun): Record<string, string> {
  const nowhere = 'http://127.0.0.1:9';
  return {
    HOME: folder,
    TMPDIR: folder,
    GOMEMLIMIT: `${Math.floor(limits.renderMemoryBytes * 0.75)}`,
    GOMAXPROCS: `${GO_THREADS}`,
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
  };
}

/** What a renderer's process may use. */
export interface ProcessLimits {
  readonly renderProcessorSeconds: number;
  readonly renderMs: number;
  readonly renderOutputBytes: number;
  readonly renderMemoryBytes: number;
}

/** Threads of a Go program that run at once. */
const GO_THREADS = 2;

/** Open files of one program. */
const mostFiles = 256;

/**
 * The command line that starts a program within bounds that the system keeps, also when this process is gone: a program that never ends is
 * ended by its processor time. `prlimit` is in the image, a shell wherever there is no prlimit (macOS); the memory is left to Go's own limit there.
 */
function boundedCommand(program: string, args: readonly string[], limits: ProcessLimits): string[] {
  const cpuSeconds = limits.renderProcessorSeconds;
  const prlimit = findProgram('prlimit');
  if (prlimit) {
    const memory = `--data=${limits.renderMemoryBytes}`;
    const bounds = [`--cpu=${cpuSeconds}`, memory, '--core=0', `--nofile=${mostFiles}`];
    return [...withoutNetwork(), prlimit, ...bounds, '--', program, ...args];
  }
  const shell = findProgram('sh');
  if (!shell) return [program, ...args];
  const script = `ulimit -t ${cpuSeconds} && ulimit -c 0 && ulimit -n ${mostFiles} && exec "$0" "$@"`;
  return [shell, '-c', script, program, ...args];
}

let networkless: readonly string[] | undefined;

/**
 * The command that starts a program in a new network namespace, which has no interface that is up; empty if the system does not allow that, as
 * in most pods. There the checks of what is rendered, and proxy settings that lead nowhere, keep renderers off the network.
 */
export function withoutNetwork(): readonly string[] {
  if (networkless) return networkless;
  const [unshare, prlimit] = [findProgram('unshare'), findProgram('prlimit')];
  const start = [unshare ?? '', '--user', '--map-current-user', '--net', '--'];
  const isAllowed =
    unshare !== undefined &&
    prlimit !== undefined &&
    spawnSync(unshare, [...start.slice(1), prlimit, '--version'], { stdio: 'ignore', timeout: 5_000 })
      .status === 0;
  networkless = isAllowed ? start : [];
  return networkless;
}

/** Absolute path of a program on PATH. */
export function findProgram(name: string): string | undefined {
  const candidates = (process.env.PATH ?? '')
    .split(delimiter)
    .filter(Boolean)
    .map((folder) => join(folder, name));
  return candidates.find((candidate) => statSync(candidate, { throwIfNoEntry: false })?.isFile());
}

/** Files by their path relative to the folder, with `/`. */
export type FolderFiles = ReadonlyMap<string, Uint8Array>;

/**
 * Calls `work` with a new folder that only this process can read and that holds these files, and takes it away afterwards. The files may be
 * decrypted ones. Throws RangeError for a path that would leave the folder.
 */
export async function inPrivateFolder<T>(
  base: string,
  files: FolderFiles,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  await mkdir(base, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(base, 'render-'));
  try {
    const made = new Set<string>();
    for (const [path, bytes] of files) {
      const target = join(folder, checked(path));
      const parent = dirname(target);
      if (!made.has(parent)) await mkdir(parent, { recursive: true, mode: 0o700 });
      made.add(parent);
      await writeFile(target, bytes, { mode: 0o600, flag: 'wx' });
    }
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Paths come from Git's trees, entry by entry; this is the second lock on the same door. */
function checked(path: string): string {
  const segments = path.split('/');
  const wrong = segments.some((segment) => ['', '.', '..'].includes(segment) || /[\0\\]/.test(segment));
  if (wrong) throw new RangeError(`the path ${JSON.stringify(path)} is not safe to write`);
  return path;
}
