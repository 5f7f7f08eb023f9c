import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { boundedCommand, GO_THREADS, type ProcessLimits } from './bounds.ts';

/** One run of a program. */
export interface ProcessRun {
  readonly program: string;
  readonly args: readonly string[];
  /** The only folder that the program is told of. */
  readonly folder: string;
  readonly limits: ProcessLimits;
  readonly signal: AbortSignal;
}

/** What it printed, or why there is nothing: `failed` carries what it said to people. */
export type ProcessResult =
  | { readonly ok: true; readonly output: string }
  | { readonly ok: false; readonly reason: 'time' | 'output' | 'memory' | 'failed'; readonly said: string };

/** Characters that are kept of what a failing program says. */
const mostSaid = 64 * 1024;

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
  let cause: 'time' | 'output' | undefined;
  const end = (why: typeof cause) => {
    cause ??= why;
    child.kill('SIGKILL');
  };
  const output = hold(child.stdout, run.limits.renderOutputBytes, () => end('output'));
  const said = hold(child.stderr, mostSaid);
  const timer = setTimeout(() => end('time'), run.limits.renderMs);
  const abort = () => child.kill('SIGKILL');
  run.signal.addEventListener('abort', abort, { once: true });
  try {
    const [code, endedBy] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (...end) => resolve(end));
    });
    run.signal.throwIfAborted();
    const text = said().slice(0, mostSaid);
    if (cause) return { ok: false, reason: cause, said: text };
    if (code === 0) return { ok: true, output: output() };
    // Not killed by us, so by the system, which does that where the memory of a container is used up.
    const isOutOfMemory = endedBy === 'SIGKILL' || saysOutOfMemory(text);
    return { ok: false, reason: isOutOfMemory ? 'memory' : 'failed', said: text };
  } finally {
    clearTimeout(timer);
    run.signal.removeEventListener('abort', abort);
  }
}

/** Holds what a stream brings, one chunk more than `mostBytes` at most; the rest is read and left, and `over` is told at each chunk of it. */
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

function saysOutOfMemory(said: string): boolean {
  return /out of memory|cannot allocate memory|failed to create new OS thread/.test(said);
}

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
