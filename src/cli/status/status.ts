import { InputError } from '../../api/problems.ts';
import { storedChanges } from '../../review/diff/release-changes.ts';
import type { Connection } from '../../server/connection.ts';
import { screenOf } from '../../terminal/output.ts';
import { type CliCommand, emit, untilInterrupted, withConnection } from '../command.ts';
import {
  allNamespacesOption,
  type ClusterFlags,
  contextOption,
  kubeconfigOption,
  namespaceOption,
  type ObjectArgument,
  outputOption,
  parseObjectArgument,
  selectorOption,
} from '../flags.ts';
import { type StatusOptions, status } from './report.ts';
import { watchStatus } from './watch.ts';

interface StatusFlags extends ClusterFlags {
  readonly selector?: string;
  readonly watch?: boolean;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly output: StatusOptions['format'];
}

/** `holdfast status`: what is going on, on one screen. */
export const statusCommand: CliCommand = {
  register(program, context) {
    program
      .command('status')
      .description('show Canaries and Sources, or one of them in full')
      .argument('[kind]', 'canary or source; NAME alone is a Canary')
      .argument('[name]', 'name of the object')
      .addOption(kubeconfigOption())
      .addOption(contextOption())
      .addOption(namespaceOption())
      .addOption(allNamespacesOption())
      .addOption(selectorOption())
      .option('-w, --watch', 'show it again as it changes, until you press Ctrl-C')
      .addOption(outputOption('table', ['table', 'wide', 'json', 'yaml']))
      .action(async (kind: string | undefined, name: string | undefined, flags: StatusFlags) => {
        const subject = subjectOf(kind, name, flags);
        const asked = {
          ...subject,
          labelSelector: flags.selector,
          format: flags.output,
          screen: screenOf(process.stdout, process.env),
        };
        const namespaceOf = ({ access }: Connection) =>
          flags.allNamespaces ? undefined : (flags.namespace ?? access.namespace);
        if (flags.watch) {
          const { stdout: stream, env } = process;
          return untilInterrupted(context, (signal) =>
            withConnection(flags, context, (connection) =>
              watchStatus(connection, {
                ...asked,
                namespace: namespaceOf(connection),
                stream,
                env,
                signal,
              }),
            ),
          );
        }
        const result = await withConnection(flags, context, (connection) =>
          status(connection.client, {
            ...asked,
            namespace: namespaceOf(connection),
            nowMs: Date.now(),
            changesOf: (canary) => storedChanges(connection.client, canary),
          }),
        );
        emit(result, context);
      });
  },
};

function subjectOf(kind: string | undefined, name: string | undefined, flags: StatusFlags): ObjectArgument {
  const subject = parseObjectArgument(kind, name);
  if (flags.watch && flags.output === 'yaml') throw new InputError('--watch has no -o yaml; use -o json');
  if (subject.name === undefined) return subject;
  if (flags.allNamespaces)
    throw new InputError('an object cannot be named together with -A; use -n NAMESPACE');
  if (flags.selector !== undefined) throw new InputError('an object cannot be named together with -l');
  return subject;
}
