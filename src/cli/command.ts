import type { Command } from 'commander';
import { systemClock } from '../api/clock.ts';
import { silentLogger } from '../cluster/log.ts';
import type { AddressPolicy } from '../http/address-guard.ts';
import { type Connection, connect } from '../server/connection.ts';
import { addressPolicy } from '../server/outbound.ts';
import type { CommandResult } from '../terminal/output.ts';

/** One command of the program: a file of its own, one line in commands.ts. */
export interface CliCommand {
  /** Adds name, options and action. The action sets the exit code through `setExitCode`. */
  register(program: Command, context: CliContext): void;
}

/** What commands share. */
interface CliContext {
  readonly version: string;
  readonly setExitCode: (code: number) => void;
}

/** Writes what a command has to say to the streams of the process and sets the exit code. */
export function emit(result: CommandResult, { setExitCode }: CliContext): void {
  process.stdout.write(result.stdout);
  process.stderr.write(result.stderr);
  setExitCode(result.exitCode);
}

/** Does something with the API server and closes the connection again. Throws ApiError. */
export async function withConnection<T>(
  options: { readonly kubeconfig: string | undefined; readonly version: string },
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await connect(options, systemClock, silentLogger);
  try {
    return await work(connection);
  } finally {
    await connection.transport.close();
  }
}

/** What a command may reach: as the controller, and the metrics server that it was given. */
export function outboundPolicy(server: string | undefined, metricsServer?: string): AddressPolicy {
  const isUrl = metricsServer !== undefined && URL.canParse(metricsServer);
  return addressPolicy(server, isUrl ? [new URL(metricsServer).host] : []);
}
