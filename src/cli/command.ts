import type { Command } from 'commander';

/** One command of the program: a file of its own, one line in commands.ts. */
export interface CliCommand {
  /** Adds name, options and action. The action sets the exit code through `setExitCode`. */
  register(program: Command, context: CliContext): void;
}

/** What commands share. */
export interface CliContext {
  readonly version: string;
  readonly setExitCode: (code: number) => void;
}
