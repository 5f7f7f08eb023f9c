import { InputError } from '../../api/problems.ts';
import { onApiError } from '../../cluster/errors.ts';
import { storedChanges } from '../../review/diff/release-changes.ts';
import type { Connection } from '../../server/connection.ts';
import { screenOf } from '../../terminal/output.ts';
import { type CliCommand, emit, untilInterrupted, withConnection } from '../command.ts';
import {
  holdfastNamespaceOption,
  outputOption,
  parseObjectArgument,
  refuseNameWithSelector,
  type SubjectFlags,
  withSubjectFlags,
} from '../flags.ts';
import { readLeader } from '../leader.ts';
import { type StatusOptions, status } from './report.ts';
import { watchStatus } from './watch.ts';

interface StatusFlags extends SubjectFlags {
  readonly watch?: boolean;
  readonly holdfastNamespace: string;
  readonly output: StatusOptions['format'];
}

/** `holdfast status`: what is going on, on one screen. */
export const statusCommand: CliCommand = {
  register(command, context) {
    withSubjectFlags(
      command
        .argument('[kind]', 'canary or source; NAME alone is a Canary')
        .argument('[name]', 'name of the object'),
    )
      .addOption(holdfastNamespaceOption('--holdfast-namespace'))
      .option('-w, --watch', 'show it again as it changes, until you press Ctrl-C')
      .addOption(outputOption('table', ['table', 'wide', 'json', 'yaml']))
      .action(async (kind: string | undefined, name: string | undefined, flags: StatusFlags) => {
        const subject = parseObjectArgument(kind, name);
        if (flags.watch && flags.output === 'yaml')
          throw new InputError('--watch has no -o yaml; use -o json');
        refuseNameWithSelector(subject.name, flags);
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
                onSilence: (line) => void process.stderr.write(`${line}\n`),
              }),
            ),
          );
        }
        const result = await withConnection(flags, context, async (connection) => {
          const shown = await status(connection.client, {
            ...asked,
            namespace: namespaceOf(connection),
            nowMs: Date.now(),
            changesOf: (canary) => storedChanges(connection.client, canary),
          });
          const note = await stoppedNote(connection, flags.holdfastNamespace);
          return { ...shown, stderr: shown.stderr + note };
        });
        emit(result, context);
      });
  },
};

/** A warning where no controller runs, since nothing changes then; empty for users who may not read the Lease. */
async function stoppedNote(
  { client, transport }: Pick<Connection, 'client' | 'transport'>,
  namespace: string,
): Promise<string> {
  const leader = await readLeader(client, namespace, transport.serverNowMs).catch(
    onApiError([], () => undefined),
  );
  return leader?.state === 'stopped'
    ? `warning: ${leader.reason}; nothing of this changes until one does\n`
    : '';
}
