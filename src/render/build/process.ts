import { spawn } from 'node:child_process';
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

/** What is kept of what a failing program says. */
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
  const { output, said } = { output: [] as Buffer[], said: [] as Buffer[] };
  let bytes = 0;
  let cause: 'time' | 'output' | undefined;
  const end = (why: typeof cause) => {
    cause ??= why;
    child.kill('SIGKILL');
  };
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > run.limits.renderOutputBytes) end('output');
    else output.push(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    if (said.length * 1024 < mostSaid) said.push(chunk.subarray(0, mostSaid));
  });
  const timer = setTimeout(() => end('time'), run.limits.renderMs);
  const abort = () => child.kill('SIGKILL');
  run.signal.addEventListener('abort', abort, { once: true });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    run.signal.throwIfAborted();
    const text = Buffer.concat(said).toString('utf8').slice(0, mostSaid);
    if (cause) return { ok: false, reason: cause, said: text };
    if (code === 0) return { ok: true, output: Buffer.concat(output).toString('utf8') };
    return { ok: false, reason: isOutOfMemory(text) ? 'memory' : 'failed', said: text };
  } finally {
    clearTimeout(timer);
    run.signal.removeEventListener('abort', abort);
  }
}

function isOutOfMemory(said: string): boolean {
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
