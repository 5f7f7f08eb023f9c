import type { CliCommand } from './command.ts';
import { emit } from './emit.ts';
import { outputOption } from './install-command.ts';
import { screenOf } from './output.ts';
import { type ProgramFlags, programsIn, withProgramFlags } from './program-flags.ts';
import { validate } from './validate.ts';
import { reportJson, reportText } from './validate-report.ts';

interface ValidateFlags extends ProgramFlags {
  readonly strict?: boolean;
  readonly meshProvider: string;
  readonly crossNamespaceRefs: boolean;
  readonly output: 'text' | 'json';
}

/** `holdfast validate`: what Holdfast would say about manifests, before they are merged. */
export const validateCommand: CliCommand = {
  register(program, context) {
    const command = program
      .command('validate')
      .description('check manifests as a Source would read them; exit code 2 if something is wrong')
      .argument('<path...>', 'files and folders')
      .option('--strict', 'unknown fields are problems')
      .option('--mesh-provider <name>', 'routing provider of Canaries that name none', 'kubernetes')
      .option('--no-cross-namespace-refs', "as the controller's: refuse references to other namespaces")
      .addOption(outputOption('text', ['text', 'json']));
    withProgramFlags(command).action(async (paths: string[], flags: ValidateFlags) => {
      const { strict = false, meshProvider: defaultProvider } = flags;
      const forbidsOtherNamespaces = !flags.crossNamespaceRefs;
      const programs = programsIn(flags, process.env);
      const validation = await validate({ paths, strict, defaultProvider, forbidsOtherNamespaces, programs });
      const screen = screenOf(process.stdout, process.env);
      emit(flags.output === 'json' ? reportJson(validation) : reportText(validation, screen), context);
    });
  },
};
