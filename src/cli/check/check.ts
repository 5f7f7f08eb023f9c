import { Option } from 'commander';
import { InputError } from '../../api/problems.ts';
import { isApiError } from '../../cluster/errors.ts';
import type { Connection } from '../../server/connection.ts';
import { inNamespace, readSourceFiles } from '../../server/source-files.ts';
import { checkReport } from '../../terminal/check-report.ts';
import { type DataFormat, screenOf } from '../../terminal/output.ts';
import { type CliCommand, emit, withConnection } from '../command.ts';
import {
  type ControllerFlags,
  controllerFlags,
  defaultControllerFlags,
  type FoundFlags,
  withControllerFlags,
} from '../controller-flags.ts';
import {
  asUserOption,
  type ClusterFlags,
  holdfastNamespaceOption,
  outputOption,
  releaseLimitsIn,
  withClusterFlags,
} from '../flags.ts';
import { outboundClient } from '../outbound.ts';
import { check } from './checks.ts';

interface CheckFlags extends ClusterFlags, Partial<ControllerFlags> {
  readonly source: string[];
  readonly namespace: string;
  readonly as?: string;
  readonly output: 'text' | DataFormat;
}

const controllerFlagNames = [
  'watch-namespaces',
  'mesh-provider',
  'metrics-server',
  'default-service-account',
  'trusted-source-namespaces',
  'cross-namespace-refs',
  'no-cross-namespace-refs',
] as const;

/** `holdfast check`: whether everything Holdfast depends on is there, before it is needed. */
export const checkCommand: CliCommand = {
  register(command, context) {
    withClusterFlags(
      command
        .description(
          'check the API server, CRDs, RBAC, Git and metrics that Holdfast depends on; exit code 1 if a check fails',
        )
        .option('--source <file...>', 'files with Source objects (default: the Sources in the cluster)', []),
    )
      .addOption(holdfastNamespaceOption('--namespace'))
      .addOption(new Option('-n <name>').argParser(refuseShort).hideHelp())
      .addOption(asUserOption());
    withControllerFlags(command, controllerFlagNames)
      .addOption(outputOption())
      .action(async (flags: CheckFlags) => {
        const { output } = flags;
        const sources = await readSourceFiles(flags.source);
        const report = await withConnection(flags, context, async (connection) => {
          const { flags: found, note } = await flagsFor(connection, flags);
          const http = outboundClient(connection.access.server, context.version, found.metricsServer);
          try {
            const sections = await check(
              { connection, http },
              {
                sources: sources.map((source) => inNamespace(source, flags.namespace)),
                ownNamespace: flags.namespace,
                watchNamespaces: found.watchNamespaces,
                defaultServiceAccount: found.defaultServiceAccount,
                trustedSourceNamespaces: found.trustedSourceNamespaces,
                dashboard: found.dashboardListen !== undefined,
                asUser: flags.as,
                defaultProvider: found.meshProvider,
                forbidsOtherNamespaces: releaseLimitsIn(found).forbidsOtherNamespaces,
                metricsServer: found.metricsServer,
                // Whoever names a server means one that can be asked from here.
                needsCredentials: !flags.metricsServer && found.metricsServerCredentials !== undefined,
                lendsIdentity: found.cloudIdentity === true,
                env: process.env,
              },
            );
            const screen = screenOf(process.stdout, process.env);
            return { ...checkReport(sections, output, screen), stderr: note };
          } finally {
            await http.close();
          }
        });
        emit(report, context);
      });
  },
};

/** Elsewhere it is the namespace of the objects, here `--namespace` is that of Holdfast: neither may be taken for the other. */
function refuseShort(name: string): never {
  throw new InputError(
    `holdfast check has no -n: --watch-namespaces ${name} checks the Canaries and Sources of that namespace alone; --namespace names the namespace where Holdfast runs`,
  );
}

/** A server that does not answer is a finding of the check, and not its end. */
async function flagsFor(connection: Connection, flags: CheckFlags): Promise<FoundFlags> {
  const query = { namespace: flags.namespace, names: controllerFlagNames, given: flags };
  return controllerFlags(connection, query).catch((error: unknown) => {
    if (!isApiError(error)) throw error;
    return { flags: defaultControllerFlags(flags), note: '' };
  });
}
