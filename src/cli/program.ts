import { Command, CommanderError } from 'commander';
import { commands } from './commands.ts';

/**
 * Exit code where nothing can be said: the input is wrong, or the API server cannot be asked. 1 is left to what was asked about: a release that
 * failed, a record that the cluster would refuse.
 */
const badInput = 2;

/** Reads the command line and runs one command; the result is the exit code. Messages go to the streams of the process. */
export async function runProgram(argv: readonly string[], version: string): Promise<number> {
  let exitCode = 0;
  const program = new Command('holdfast')
    .description(
      'A GitOps reconciler for progressive delivery that keeps the last-known-good release and returns to it',
    )
    .version(version, '-V, --version', 'print the version')
    .exitOverride()
    .showHelpAfterError('(holdfast --help lists the commands, holdfast <command> --help their options)');
  const context = {
    version,
    setExitCode: (code: number) => {
      exitCode = code;
    },
  };
  for (const command of commands) command.register(program, context);
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    return exitCodeOf(error);
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : badInput;
  const { name, kind, message } = error as { name?: string; kind?: string; message?: string };
  process.stderr.write(`holdfast: ${message ?? String(error)}\n`);
  return name === 'InputError' || name === 'ApiError' || kind === 'configuration' ? badInput : 1;
}
