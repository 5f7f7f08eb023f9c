import { describe } from '../../api/kubernetes.ts';
import { type CommandResult, formatData } from '../../terminal/output.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import {
  annotate,
  nameIn,
  type ObjectFlags,
  type RequestClient,
  readOne,
  withObjectFlags,
} from './request.ts';

/** What pausing needs. */
interface PauseOptions {
  readonly namespace: string;
  readonly name: string;
  readonly paused: boolean;
  readonly format: ObjectFlags['output'];
}

/** `holdfast pause`: no step and no promotion from here on; a revert under way finishes. */
export const pauseCommand = command(
  'pause',
  'pause a rollout: no step and no promotion until holdfast resume',
  true,
);

/** `holdfast resume`: the rollout goes on. */
export const resumeCommand = command('resume', 'resume a paused rollout', false);

function command(name: string, description: string, paused: boolean): CliCommand {
  return {
    register(program, context) {
      withObjectFlags(program.command(name).description(description), 'Canary').action(
        async (subject: string, flags: ObjectFlags) => {
          const result = await withConnection(flags, context, ({ access, client }) =>
            setPause(client, {
              namespace: flags.namespace ?? access.namespace,
              name: nameIn(subject, 'Canary'),
              paused,
              format: flags.output,
            }),
          );
          emit(result, context);
        },
      );
    },
  };
}

/** Sets or takes away the annotation, which is a state. Throws ApiError and InputError. */
export async function setPause(client: RequestClient, options: PauseOptions): Promise<CommandResult> {
  const canary = await readOne(client, 'Canary', options);
  await annotate(client, canary, 'pause', options.paused ? 'true' : null);
  const { paused, format } = options;
  const { namespace, name } = canary.metadata;
  if (format !== 'text')
    return {
      stdout: formatData({ canary: `${namespace}/${name}`, paused }, format),
      stderr: '',
      exitCode: 0,
    };
  const text = paused ? 'paused: no step and no promotion until holdfast resume' : 'resumed';
  return { stdout: `${describe(canary)}: ${text}\n`, stderr: '', exitCode: 0 };
}
