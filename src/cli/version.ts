import { parse } from 'semver';
import { versionAnnotation } from '../api/annotations.ts';
import { describe } from '../api/kubernetes.ts';
import { leaseKind, leaseRecordOf } from '../cluster/election/lease-record.ts';
import { isApiError } from '../cluster/errors.ts';
import { type CommandResult, type DataFormat, formatAge, printable } from '../terminal/output.ts';
import { formatOutput } from '../terminal/schemas/output-kinds.ts';
import { type CliCommand, emit, withConnection } from './command.ts';
import {
  type ClusterFlags,
  contextOption,
  holdfastNamespaceOption,
  kubeconfigOption,
  outputOption,
} from './flags.ts';
import type { RequestClient } from './requests/request.ts';

interface VersionFlags extends ClusterFlags {
  readonly client?: boolean;
  readonly holdfastNamespace: string;
  readonly output: 'text' | DataFormat;
}

/** The controller that leads, as its Lease names it; or why it is not known. */
type Controller = { readonly version: string; readonly holder: string } | { readonly reason: string };

/** `holdfast version`: of this program, and of the controller that leads in the cluster. */
export const versionCommand: CliCommand = {
  register(program, context) {
    program
      .command('version')
      .description('print the version of this program and of the controller in the cluster')
      .addOption(kubeconfigOption())
      .addOption(contextOption())
      .addOption(holdfastNamespaceOption('--holdfast-namespace'))
      .option('--client', 'only the version of this program; asks no cluster')
      .addOption(outputOption('text', ['text', 'json', 'yaml']))
      .action(async (flags: VersionFlags) => {
        const { version } = context;
        const controller = flags.client ? undefined : await askedController(flags, version);
        emit(versions(version, controller, flags.output), context);
      });
  },
};

/** Undefined where no cluster is configured. Throws ApiError for a kubeconfig that cannot be used. */
async function askedController(flags: VersionFlags, version: string): Promise<Controller | undefined> {
  try {
    return await withConnection(flags, { version }, ({ client }) =>
      controllerOf(client, flags.holdfastNamespace, Date.now()),
    );
  } catch (error) {
    if (!isApiError(error)) throw error;
    if (error.kind !== 'configuration') return { reason: error.message };
    if (flags.kubeconfig === undefined && flags.context === undefined) return undefined;
    throw error;
  }
}

/** How long a leader may be silent before it is said; clocks differ. */
const silentMs = 60_000;

/** Reads the Lease, into which the leader writes its version: an image says what should run, and may be named by a digest. Throws ApiError. */
async function controllerOf(
  client: Pick<RequestClient, 'get'>,
  namespace: string,
  nowMs: number,
): Promise<Controller> {
  const reference = { ...leaseKind, namespace, name: 'holdfast' };
  const lease = await client.get(reference);
  if (!lease)
    return { reason: `there is no ${describe(reference)}; --holdfast-namespace names another namespace` };
  const { holder, renewTime, durationSeconds } = leaseRecordOf(lease);
  if (!holder) return { reason: `nobody holds the ${describe(reference)}: no controller runs` };
  if (Date.parse(renewTime) + durationSeconds * 1000 + silentMs < nowMs)
    return { reason: `${holder} last renewed the ${describe(reference)} ${formatAge(renewTime, nowMs)}` };
  const version = lease.metadata.annotations?.[versionAnnotation];
  return version === undefined
    ? { reason: `${holder} does not say its version: it is older than 0.1.0` }
    : { version, holder };
}

/** Where the controller is not known the version of this program is a result all the same. */
function versions(
  client: string,
  controller: Controller | undefined,
  format: VersionFlags['output'],
): CommandResult {
  const isKnown = controller !== undefined && 'version' in controller;
  const stderr =
    isKnown && isFar(client, controller.version)
      ? `warning: this program is ${client} and the controller ${controller.version}; they are made to work together up to one minor version apart\n`
      : '';
  if (format !== 'text')
    return {
      stdout: formatOutput('Version', { client: { version: client }, controller }, format),
      stderr,
      exitCode: 0,
    };
  const described = isKnown
    ? `${controller.version}  (${controller.holder})`
    : `unknown: ${controller?.reason}`;
  const lines = [`client      ${client}`, ...(controller ? [`controller  ${printable(described)}`] : [])];
  return { stdout: `${lines.join('\n')}\n`, stderr, exitCode: 0 };
}

/** More than one minor version apart. What is no version is not compared. */
function isFar(left: string, right: string): boolean {
  const [one, other] = [parse(left), parse(right)];
  if (!one || !other) return false;
  return one.major !== other.major || Math.abs(one.minor - other.minor) > 1;
}
