import { Argument } from 'commander';
import {
  annotationPrefix,
  type BuiltInGate,
  builtInGates,
  isGateOpen,
  openGate,
} from '../../api/annotations.ts';
import type { Canary } from '../../api/canary/canary.ts';
import { commandOn, describe, type KubernetesObject, nameOf } from '../../api/kubernetes.ts';
import { type CommandResult, formatOutput } from '../../terminal/output.ts';
import type { CliCommand } from '../command.ts';
import { readOne } from '../objects.ts';
import {
  annotate,
  type ObjectFlags,
  type ObjectOptions,
  onTargets,
  type RequestClient,
  refuseWhereApplied,
  withObjectFlags,
} from './request.ts';

const actions = ['open', 'close', 'status'] as const;
type Action = (typeof actions)[number];

/** What switching a gate needs. */
export interface GateOptions extends ObjectOptions {
  readonly action: Action;
  readonly gate: BuiltInGate;
}

/** `holdfast gate`: the gates that Holdfast serves at /gate/check and /rollback/check. */
export const gateCommand: CliCommand = {
  register(command, context) {
    command.addArgument(new Argument('<action>').choices(actions));
    withObjectFlags(command, 'Canary')
      .option('--rollback', 'the gate of /rollback/check; while it is open, the release is rolled back')
      .action((action: Action, subject: string | undefined, flags: ObjectFlags & { rollback?: boolean }) =>
        onTargets(context, 'Canary', { subject, flags }, (client, target) =>
          switchGate(client, {
            ...target,
            action,
            gate: flags.rollback ? 'rollback-gate' : 'gate',
          }),
        ),
      );
  },
};

/** Opens or closes a gate, which stays so for later releases too, and says how the gates stand. Throws ApiError and InputError. */
export async function switchGate(client: RequestClient, options: GateOptions): Promise<CommandResult> {
  const canary = await readOne(client, 'Canary', options);
  const { action, gate, format } = options;
  if (action !== 'status') {
    refuseWhereApplied(canary, ['metadata', 'annotations', annotationPrefix + gate]);
    const value = action === 'open' ? openGate : 'closed';
    await annotate(client, canary, gate, value);
  }
  const isOpen = (one: BuiltInGate) =>
    action !== 'status' && one === gate ? action === 'open' : isGateOpen(canary, one);
  const stderr = action === 'status' || isAsked(canary, gate) ? '' : noteOf(canary, gate);
  return { stdout: textOf(canary, isOpen, format), stderr, exitCode: 0 };
}

const paths: Readonly<Record<BuiltInGate, string>> = {
  gate: '/gate/check',
  'rollback-gate': '/rollback/check',
};

/** Whether a webhook of the Canary has the address of this gate. */
function isAsked({ spec }: KubernetesObject, gate: BuiltInGate): boolean {
  const { analysis, postPromotion } = (spec ?? {}) as Partial<Canary['spec']>;
  const webhooks = [...(analysis?.webhooks ?? []), ...(postPromotion?.webhooks ?? [])];
  return webhooks.some(({ url }) => URL.canParse(url) && new URL(url).pathname.endsWith(paths[gate]));
}

function noteOf(canary: KubernetesObject, gate: BuiltInGate): string {
  const [command, effect] =
    gate === 'gate'
      ? (['approve', 'opens the gate that a release waits at'] as const)
      : (['abort', 'ends the release under way'] as const);
  return `note: no webhook of ${describe(canary)} asks ${paths[gate]}, so that this changes nothing; ${commandOn(command, nameOf(canary))} ${effect}\n`;
}

function textOf(
  canary: KubernetesObject,
  isOpen: (gate: BuiltInGate) => boolean,
  format: GateOptions['format'],
): string {
  const { namespace, name } = canary.metadata;
  if (format !== 'text') {
    const data = {
      canary: `${namespace}/${name}`,
      gate: isOpen('gate'),
      rollbackGate: isOpen('rollback-gate'),
    };
    return formatOutput('Gates', data, format);
  }
  const states = builtInGates.map((gate) => `${gate} ${isOpen(gate) ? 'open' : 'closed'}`);
  return `${describe(canary)}: ${states.join(', ')}\n`;
}
