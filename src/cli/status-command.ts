import { InputError } from '../app/options.ts';
import type { CliCommand } from './command.ts';
import { connected } from './connected.ts';
import { emit } from './emit.ts';
import { outputOption } from './install-command.ts';
import { screenOf } from './output.ts';
import { type StatusOptions, status } from './status.ts';

interface StatusFlags {
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly output: StatusOptions['format'];
}

/** `holdfast status`: what is going on, for people who were just woken up. */
export const statusCommand: CliCommand = {
  register(program, context) {
    const { version } = context;
    program
      .command('status')
      .description('show Canaries and Sources, or one of them in full')
      .argument('[kind]', 'canary or source; a name alone is that of a Canary')
      .argument('[name]', 'name of the object')
      .option(
        '--kubeconfig <file>',
        'kubeconfig; default: KUBECONFIG, the service account of the pod, ~/.kube/config',
      )
      .option('-n, --namespace <name>', "namespace; default: the kubeconfig's")
      .option('-A, --all-namespaces', 'all namespaces')
      .addOption(outputOption('table', ['table', 'wide', 'json', 'yaml']))
      .action(async (kind: string | undefined, name: string | undefined, flags: StatusFlags) => {
        const subject = subjectOf(kind, name);
        if (flags.allNamespaces && subject.name !== undefined)
          throw new InputError('one object is in one namespace: give -n NAMESPACE instead of -A');
        const { kubeconfig } = flags;
        const result = await connected({ kubeconfig, version }, ({ access, client }) =>
          status(client, {
            ...subject,
            namespace: flags.allNamespaces ? undefined : (flags.namespace ?? access.namespace),
            format: flags.output,
            screen: screenOf(process.stdout, process.env),
            nowMs: Date.now(),
          }),
        );
        emit(result, context);
      });
  },
};

/** `canary web`, `canary/web`, `canaries`, `web`: all as with kubectl. Throws InputError for a kind that is not ours. */
export function subjectOf(
  first: string | undefined,
  second: string | undefined,
): Pick<StatusOptions, 'kind' | 'name'> {
  if (first === undefined) return {};
  const [word = '', inside] = first.split('/', 2);
  const kind = kindNamed(word);
  const name = second ?? inside;
  if (kind) return { kind, name };
  if (name === undefined) return { kind: 'Canary', name: word };
  throw new InputError(`${JSON.stringify(word)} is neither canary nor source`);
}

function kindNamed(word: string): 'Canary' | 'Source' | undefined {
  if (/^canar(y|ies)$/i.test(word)) return 'Canary';
  return /^sources?$/i.test(word) ? 'Source' : undefined;
}
