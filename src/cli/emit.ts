import type { CliContext } from './command.ts';
import type { CommandResult } from './output.ts';

/** Writes what a command has to say to the streams of the process and sets the exit code. */
export function emit(result: CommandResult, { setExitCode }: CliContext): void {
  process.stdout.write(result.stdout);
  process.stderr.write(result.stderr);
  setExitCode(result.exitCode);
}
