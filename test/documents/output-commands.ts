import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { wholeProgram } from '../../src/cli/commands.ts';
import { rowsUnder } from './tables.ts';

/** A command that help lists, and what -o may be. */
interface OutputCommand {
  readonly name: string;
  readonly formats: readonly string[];
}

/** Every command that help lists, those below others included, with their whole names. */
export const allCommands = below(await wholeProgram('0.0.0'), '');

function below(parent: Command, prefix: string): OutputCommand[] {
  const shown = parent.createHelp().visibleCommands(parent);
  return shown
    .filter((command) => command.name() !== 'help')
    .flatMap((command) => {
      const name = `${prefix}${command.name()}`;
      const formats = command.options.find(({ long }) => long === '--output')?.argChoices ?? [];
      return [{ name, formats }, ...below(command, `${name} `)];
    });
}

/** The table of docs/output.md: the kinds that each command prints; `Object` for objects of Kubernetes. */
export function kindsByCommand(): Map<string, string[]> {
  const page = readFileSync(join(import.meta.dirname, '../../docs/output.md'), 'utf8');
  return new Map(
    rowsUnder(page, 'Commands').map(([command = '', kinds = '']) => [
      command.replaceAll('`', ''),
      [...kinds.matchAll(/\[(\w+)\]|objects of Kubernetes/g)].map(([, kind]) => kind ?? 'Object'),
    ]),
  );
}
