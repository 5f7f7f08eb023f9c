/** The table of commands: a further one is one more file and one more line here. */
import { checkCommand } from './check-command.ts';
import type { CliCommand } from './command.ts';
import { demoCommand } from './demo.ts';
import { installCommand } from './install-command.ts';
import { runCommand } from './run.ts';
import { statusCommand } from './status-command.ts';
import { validateCommand } from './validate-command.ts';

/** Every command, in the order of the help text. */
export const commands: readonly CliCommand[] = [
  runCommand,
  demoCommand,
  statusCommand,
  checkCommand,
  validateCommand,
  installCommand,
];
