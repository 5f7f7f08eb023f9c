import { inNamespace, readSourceFiles } from '../app/source-files.ts';
import { createHttpClient } from '../http/client.ts';
import { addressPolicy } from './address-policy.ts';
import { check } from './check.ts';
import { checkReport } from './check-report.ts';
import type { CliCommand } from './command.ts';
import { connected } from './connected.ts';
import { emit } from './emit.ts';
import { defaultNamespace as ownNamespace } from './install.ts';
import { commaList, outputOption } from './install-command.ts';
import { screenOf } from './output.ts';

interface CheckFlags {
  readonly source: string[];
  readonly kubeconfig?: string;
  readonly namespace: string;
  readonly watchNamespaces: string[];
  readonly as?: string;
  readonly meshProvider: string;
  readonly metricsServer: string;
  readonly output: 'text' | 'json';
}

/** `holdfast check`: whether everything Holdfast depends on is there, before it is needed. */
export const checkCommand: CliCommand = {
  register(program, context) {
    program
      .command('check')
      .description(
        'look at the API server, CRDs, rights, Git and metrics; exit code 1 if something is missing',
      )
      .option('--source <file...>', 'files with Source objects; without it the Sources of the cluster', [])
      .option(
        '--kubeconfig <file>',
        'kubeconfig; default: KUBECONFIG, the service account of the pod, ~/.kube/config',
      )
      .option('--namespace <name>', 'namespace that Holdfast runs in', ownNamespace)
      .option('--watch-namespaces <names>', 'only these namespaces (comma list)', commaList, [])
      .option(
        '--as <user>',
        'check the rights of this user, as system:serviceaccount:holdfast-system:holdfast',
      )
      .option('--mesh-provider <name>', 'routing provider of Canaries that name none', 'kubernetes')
      .option('--metrics-server <url>', 'Prometheus of built-in metrics', 'http://prometheus:9090')
      .addOption(outputOption('text', ['text', 'json']))
      .action(async (flags: CheckFlags) => {
        const { kubeconfig, output } = flags;
        const sources = await readSourceFiles(flags.source);
        const sections = await connected({ kubeconfig, version: context.version }, async (connection) => {
          const policy = addressPolicy(connection.access.server, flags.metricsServer);
          const http = createHttpClient({ ...policy, userAgent: `holdfast/${context.version}` });
          try {
            return await check(
              { connection, http },
              {
                sources: sources.map((source) => inNamespace(source, flags.namespace)),
                ownNamespace: flags.namespace,
                watchNamespaces: flags.watchNamespaces,
                asUser: flags.as,
                defaultProvider: flags.meshProvider,
                metricsServer: flags.metricsServer,
                env: process.env,
              },
            );
          } finally {
            await http.close();
          }
        });
        emit(checkReport(sections, output, screenOf(process.stdout, process.env)), context);
      });
  },
};
