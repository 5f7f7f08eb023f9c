import { Option } from 'commander';
import type { CliCommand } from './command.ts';
import { emit } from './emit.ts';
import { defaultNamespace, imageOf, runInstall } from './install.ts';
import type { DataFormat } from './output.ts';
import { accountName } from './run-limits.ts';

interface InstallFlags {
  readonly crdsOnly?: boolean;
  readonly namespace: string;
  readonly image: string;
  readonly watchNamespaces: string[];
  readonly impersonation?: boolean;
  readonly defaultServiceAccount?: string;
  readonly output: DataFormat;
}

/** `holdfast install`: manifests on standard output, to read and then to apply. */
export const installCommand: CliCommand = {
  register(program, context) {
    program
      .command('install')
      .description(
        'print what a cluster needs to run Holdfast; apply it with: kubectl apply --server-side -f -',
      )
      .option('--crds-only', 'the CustomResourceDefinitions alone')
      .option('--namespace <name>', 'namespace that Holdfast runs in', defaultNamespace)
      .option('--image <reference>', 'container image', imageOf(context.version))
      .option('--watch-namespaces <names>', 'rights in these namespaces only (comma list)', commaList, [])
      .option('--impersonation', 'rights to write as the service accounts that Sources name')
      .option(
        '--default-service-account <name>',
        'account of Sources that name none, in their namespace; implies --impersonation',
        accountName,
      )
      .addOption(outputOption('yaml', ['yaml', 'json']))
      .action(({ output, ...options }: InstallFlags) => emit(runInstall(options, output), context));
  },
};

/** `-o`, with a closed list of formats. */
export function outputOption(preset: string, formats: readonly string[]): Option {
  return new Option('-o, --output <format>', 'format of the output').choices(formats).default(preset);
}

/** Parts between commas, without empty ones. */
export function commaList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}
