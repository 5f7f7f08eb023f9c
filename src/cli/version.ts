import { parse } from 'semver';
import { isApiError } from '../cluster/errors.ts';
import { type CommandResult, type DataFormat, formatOutput, printable } from '../terminal/output.ts';
import { type CliCommand, emit, withConnection } from './command.ts';
import { failureBody } from './failure.ts';
import { type ClusterFlags, holdfastNamespaceOption, outputOption, withClusterFlags } from './flags.ts';
import { readLeader } from './leader.ts';

interface VersionFlags extends ClusterFlags {
  readonly client?: boolean;
  readonly holdfastNamespace: string;
  readonly output: 'text' | DataFormat;
}

/** What is printed of the controller: who leads, or why that is not known. */
type Controller = { readonly version: string; readonly holder: string } | { readonly reason: string };

/** `holdfast version`: of this program, and of the controller that leads in the cluster. */
export const versionCommand: CliCommand = {
  register(command, context) {
    withClusterFlags(command)
      .addOption(holdfastNamespaceOption('--holdfast-namespace'))
      .option('--client', 'only the version of this program; asks no cluster')
      .addOption(outputOption())
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
    const { state, ...leader } = await withConnection(flags, { version }, ({ client, transport }) =>
      readLeader(client, flags.holdfastNamespace, transport.serverNowMs),
    );
    if (state !== 'absent' || 'version' in leader) return leader;
    return { reason: `${leader.reason}; --holdfast-namespace names another namespace` };
  } catch (error) {
    if (!isApiError(error)) throw error;
    if (error.kind !== 'configuration') return { reason: failureBody(error).message };
    if (flags.kubeconfig === undefined && flags.context === undefined) return undefined;
    throw error;
  }
}

/** The version of this program is a result also where the controller is not known. */
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
