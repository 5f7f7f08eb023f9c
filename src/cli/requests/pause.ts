import { pauseAnnotation } from '../../api/annotations.ts';
import {
  commandOn,
  describe,
  isSuspended,
  nameOf,
  namespacedName,
  referenceOf,
} from '../../api/kubernetes.ts';
import { type CommandResult, formatOutput, printed } from '../../terminal/output.ts';
import type { CliCommand } from '../command.ts';
import { parseSubject } from '../flags.ts';
import { readOne } from '../objects.ts';
import {
  annotate,
  manager,
  type ObjectFlags,
  type ObjectOptions,
  onTargets,
  type RequestClient,
  refuseWhereApplied,
  withObjectFlags,
} from './request.ts';

/** What pausing or suspending needs. */
interface PauseOptions extends ObjectOptions {
  readonly paused: boolean;
}

/** `holdfast pause`: no step and no promotion from here on; a revert under way finishes. */
export const pauseCommand: CliCommand = {
  register(command, context) {
    withObjectFlags(command, 'Canary').action((subject: string | undefined, flags: ObjectFlags) =>
      onTargets(context, 'Canary', { subject, flags }, (client, target) =>
        setPause(client, { ...target, paused: true }),
      ),
    );
  },
};

/** `holdfast suspend`: a Source reads nothing and writes nothing from here on. */
export const suspendCommand: CliCommand = {
  register(command, context) {
    withObjectFlags(
      command.description(
        'suspend a Source: nothing is fetched, applied or corrected until holdfast resume source/NAME; rollouts under way continue',
      ),
      'Source',
    ).action((subject: string | undefined, flags: ObjectFlags) =>
      onTargets(context, 'Source', { subject, flags }, (client, target) =>
        setSuspend(client, { ...target, paused: true }),
      ),
    );
  },
};

/** `holdfast resume`: a paused Canary or a suspended Source goes on. */
export const resumeCommand: CliCommand = {
  register(command, context) {
    withObjectFlags(command, 'Canary').action(async (subject: string | undefined, flags: ObjectFlags) => {
      const { kind = 'Canary', name } = parseSubject(subject, flags.selector);
      const set = kind === 'Source' ? setSuspend : setPause;
      const asked = { subject: name === undefined ? undefined : subject, flags };
      await onTargets(context, kind, asked, (client, target) => set(client, { ...target, paused: false }));
    });
  },
};

/** Sets or removes the annotation, which is a state and not a request. Throws ApiError, and InputError where Git would set it back. */
export async function setPause(client: RequestClient, options: PauseOptions): Promise<CommandResult> {
  const canary = await readOne(client, 'Canary', options);
  const { paused } = options;
  refuseWhereApplied(canary, ['metadata', 'annotations', pauseAnnotation]);
  await annotate(client, canary, 'pause', paused ? 'true' : null);
  const text = paused
    ? `paused: no step and no promotion until ${commandOn('resume', nameOf(canary))}`
    : 'resumed';
  const { format } = options;
  const stdout =
    format === 'text'
      ? `${describe(canary)}: ${text}\n`
      : formatOutput('Pause', { canary: namespacedName(canary), paused }, format);
  return { ...printed(stdout), stderr: !paused && isSuspended(canary) ? stillSuspended : '' };
}

const stillSuspended =
  'note: spec.suspend of the Canary is true, so Holdfast does nothing for it; set it to false where the manifest of the Canary is\n';

/** Sets spec.suspend of a Source. Throws ApiError, and InputError where Git would set it back. */
export async function setSuspend(client: RequestClient, options: PauseOptions): Promise<CommandResult> {
  const source = await readOne(client, 'Source', options);
  refuseWhereApplied(source, ['spec', 'suspend']);
  const { paused } = options;
  const patch = { spec: { suspend: paused ? true : null } };
  await client.patch(referenceOf(source), patch, { type: 'merge', manager });
  const text = paused
    ? `suspended: nothing is fetched or applied until ${commandOn('resume', nameOf(source), 'source')}`
    : 'resumed';
  const { format } = options;
  if (format !== 'text')
    return printed(formatOutput('Suspension', { source: namespacedName(source), suspended: paused }, format));
  return printed(`${describe(source)}: ${text}\n`);
}
