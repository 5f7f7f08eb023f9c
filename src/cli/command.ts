import type { Command } from 'commander';
import { systemClock } from '../api/clock.ts';
import { silentLogger } from '../cluster/log.ts';
import type { Connection } from '../server/connection.ts';
import type { CommandResult } from '../terminal/output.ts';
import { exitCodes } from './failure.ts';
import type { ClusterFlags } from './flags.ts';

/** One command of the program: a file of its own, which is loaded when it is needed, and one line in commands.ts. */
export interface CliCommand {
  /** Adds arguments, options and action to the command of that line. The action sets the exit code through `setExitCode`. */
  register(command: Command, context: CliContext): void;
}

/** What commands share. */
export interface CliContext {
  readonly version: string;
  readonly setExitCode: (code: number) => void;
  /** Runs another command line in place of this one. */
  readonly run: (argv: readonly string[]) => Promise<void>;
}

/** Writes what a command has to say to the streams of the process and sets the exit code. */
export function emit(result: CommandResult, { setExitCode }: CliContext): void {
  process.stdout.write(result.stdout);
  process.stderr.write(result.stderr);
  setExitCode(result.exitCode);
}

/** Does something with the API server and closes the connection again; no request takes longer than `timeout` seconds. Throws ApiError. */
export async function withConnection<T>(
  { kubeconfig, context, timeout }: ClusterFlags & { readonly timeout?: number },
  { version }: Pick<CliContext, 'version'>,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { connect } = await import('../server/connection.ts');
  const deadlineMs = Math.max(1_000, Math.min(30_000, (timeout ?? 30) * 1_000));
  const connection = await connect({ kubeconfig, context, version, deadlineMs }, systemClock, silentLogger);
  try {
    return await work(connection);
  } finally {
    await connection.transport.close();
  }
}

/** Until then a second signal is the same one, sent to a process group and forwarded by a parent. */
const sameSignalMs = 1_000;

/** The signals by which people end a program do this, until what is returned is called. */
export function onSignals(act: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.on(signal, act);
  return () => {
    for (const signal of signals) process.off(signal, act);
  };
}

/** The first signal aborts, a later one ends the process. A closed pipe counts as a signal. `release` gives the signals back. */
export function abortOnSignals(): { readonly signal: AbortSignal; readonly release: () => void } {
  const stopping = new AbortController();
  let firstMs: number | undefined;
  const onSignal = () => {
    if (firstMs !== undefined && performance.now() - firstMs > sameSignalMs)
      process.exit(exitCodes.interrupted);
    firstMs ??= performance.now();
    stopping.abort(new Error('interrupted'));
  };
  const release = onSignals(onSignal);
  process.stdout.on('error', onSignal);
  return { signal: stopping.signal, release };
}

/** The work, or nothing, until the signal aborts: rejects with its reason then. */
export function untilAborted<T = never>(
  signal: AbortSignal,
  work = new Promise<T>(() => undefined),
): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

/** Does something until a signal; its exit code is that of an interruption then, else what the work resolves to. */
export async function untilInterrupted(
  { setExitCode }: Pick<CliContext, 'setExitCode'>,
  work: (signal: AbortSignal) => Promise<number>,
): Promise<void> {
  const { signal, release } = abortOnSignals();
  try {
    setExitCode(await work(signal));
  } catch (error) {
    if (error !== signal.reason) throw error;
    setExitCode(exitCodes.interrupted);
  } finally {
    release();
  }
}
