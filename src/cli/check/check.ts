import { apiVersionOf, type KindName } from '../../api/kinds/kinds.ts';
import { parseSource } from '../../api/kinds/parse.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import type { Source } from '../../api/source/source.ts';
import { isApiError } from '../../cluster/errors.ts';
import { createHttpClient } from '../../http/client.ts';
import type { HttpClient } from '../../http/types.ts';
import { checkMetrics } from '../../review/plan/metrics.ts';
import type { Connection } from '../../server/connection.ts';
import { inNamespace, readSourceFiles, rememberFileSources } from '../../server/source-files.ts';
import { bad, type CheckLine, type CheckSection, checkReport, guarded } from '../../terminal/check-report.ts';
import { screenOf } from '../../terminal/output.ts';
import { watchedKinds } from '../../workload/kinds.ts';
import { scalerKindOf } from '../../workload/scaler.ts';
import { type CliCommand, emit, outboundPolicy, withConnection } from '../command.ts';
import {
  asUserOption,
  holdfastNamespaceOption,
  kubeconfigOption,
  outputOption,
  watchNamespacesOption,
} from '../flags.ts';
import { checkCanaries, checkProviders, routeKindsOf } from './canaries.ts';
import { checkConflictingControllers, checkCrds, checkServer } from './cluster.ts';
import { checkRights } from './rights.ts';
import { checkSources } from './sources.ts';
import { checkTrust } from './trust.ts';

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
      .summary('check everything that Holdfast depends on')
      .description(
        'check the API server, CRDs, RBAC, Git and metrics that Holdfast depends on; exit code 1 if a check fails',
      )
      .option('--source <file...>', 'files with Source objects (default: the Sources in the cluster)', [])
      .addOption(kubeconfigOption())
      .addOption(holdfastNamespaceOption('--namespace'))
      .addOption(watchNamespacesOption())
      .addOption(asUserOption())
      .option('--mesh-provider <name>', 'routing provider of Canaries without spec.provider', 'kubernetes')
      .option('--metrics-server <url>', 'Prometheus for the built-in metrics', 'http://prometheus:9090')
      .addOption(outputOption('text', ['text', 'json']))
      .action(async (flags: CheckFlags) => {
        const { kubeconfig, output } = flags;
        const sources = await readSourceFiles(flags.source);
        const sections = await withConnection(
          { kubeconfig, version: context.version },
          async (connection) => {
            const policy = outboundPolicy(connection.access.server, flags.metricsServer);
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
          },
        );
        emit(checkReport(sections, output, screenOf(process.stdout, process.env)), context);
      });
  },
};

/** What `holdfast check` is asked for. */
export interface CheckOptions {
  /** Sources of files; empty: those of the cluster. */
  readonly sources: readonly Source[];
  readonly ownNamespace: string;
  /** Empty: all namespaces. */
  readonly watchNamespaces: readonly string[];
  readonly asUser?: string | undefined;
  readonly defaultProvider: string;
  readonly metricsServer: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What checking needs. */
interface CheckParts {
  readonly connection: Pick<Connection, 'access' | 'client' | 'transport'>;
  readonly http: HttpClient;
}

/** Looks at everything Holdfast depends on, in the order in which one thing needs the other. Changes nothing. */
export async function check(parts: CheckParts, options: CheckOptions): Promise<CheckSection[]> {
  const { access, client, transport } = parts.connection;
  const server = await guarded(access.server, async () => [await checkServer(transport, access.server)]);
  const sections: CheckSection[] = [{ title: 'API server', lines: server }];
  if (server.some(({ state }) => state === 'failed'))
    return [...sections, await gitSection(parts, options, options.sources)];
  sections.push({ title: 'CustomResourceDefinitions', lines: await checkCrds(client) });
  const canaries = await listOf(parts, options, 'Canary');
  const templates = await listOf(parts, options, 'MetricTemplate');
  const { defaultProvider, metricsServer } = options;
  const found = checkCanaries(canaries.objects, {
    defaultProvider,
    intervalFloorMs: limits.minAnalysisIntervalMs,
  });
  sections.push({ title: 'Rights', lines: await rightsLines(parts, options, found.valid) });
  const providers = await guarded('Providers', () => checkProviders(client, found.valid, defaultProvider));
  const conflicting = await guarded('Flagger', () => checkConflictingControllers(client));
  sections.push({
    title: 'Canaries',
    lines: [...canaries.lines, ...found.lines, ...providers, ...conflicting],
  });
  const sources = await sourcesOf(parts, options);
  const git = await gitSection(parts, options, sources.valid);
  sections.push({ ...git, lines: [...sources.lines, ...git.lines] });
  const trust = await checkTrust({ client, transport, asUser: options.asUser }, sources.valid);
  if (trust.length > 0) sections.push({ title: 'Accounts and keys', lines: trust });
  const asked = { client, http: parts.http, metricsServer, defaultProvider, templates: templates.objects };
  const metrics = await guarded('Metrics', () => checkMetrics(asked, found.valid));
  return [...sections, { title: 'Metrics', lines: metrics }];
}

/** CRDs and rights that are not as Holdfast needs them, and Sources that were not asked. Throws ApiError when nobody answers. */
export async function clusterFindings(
  parts: Pick<CheckParts, 'connection'>,
  options: RightsQuery,
): Promise<CheckLine[]> {
  const { defaultProvider } = options;
  const crds = await checkCrds(parts.connection.client);
  const canaries = await listOf(parts, options, 'Canary');
  const { valid } = checkCanaries(canaries.objects, {
    defaultProvider,
    intervalFloorMs: limits.minAnalysisIntervalMs,
  });
  const rights = await rightsLines(parts, options, valid);
  const sources = await listOf(parts, options, 'Source');
  const lines = [...crds, ...canaries.lines, ...rights, ...sources.lines];
  return [...lines.filter(({ state }) => state !== 'ok'), ...unreadSources(sources.objects.length)];
}

function unreadSources(count: number): CheckLine[] {
  if (count === 0) return [];
  const detail = `${count} in the cluster; the desired state of their targets is in Git, which this command does not read`;
  return [
    bad('warning', 'Sources', detail, { actor: 'nobody', act: 'run holdfast run --shadow to include Git' }),
  ];
}

type RightsQuery = Pick<CheckOptions, 'ownNamespace' | 'watchNamespaces' | 'asUser' | 'defaultProvider'>;

async function rightsLines(
  { connection }: Pick<CheckParts, 'connection'>,
  { ownNamespace, watchNamespaces, asUser, defaultProvider }: RightsQuery,
  canaries: Parameters<typeof routeKindsOf>[0],
): Promise<readonly CheckLine[]> {
  const kinds = [
    ...[...routeKindsOf(canaries, defaultProvider).values()].flat(),
    ...canaries.flatMap(({ spec }) => [...watchedKinds(spec.targetRef), scalerKindOf(spec) ?? []].flat()),
  ];
  const plurals: Readonly<Record<string, string>> = {
    HTTPRoute: 'httproutes',
    HTTPProxy: 'httpproxies',
    DaemonSet: 'daemonsets',
    StatefulSet: 'statefulsets',
    ControllerRevision: 'controllerrevisions',
    HorizontalPodAutoscaler: 'horizontalpodautoscalers',
    ScaledObject: 'scaledobjects',
    Revision: 'revisions',
  };
  const usedResources = new Set(kinds.flatMap(({ kind }) => plurals[kind] ?? []));
  return guarded('Rights', () =>
    checkRights(connection.transport, { ownNamespace, watchNamespaces, usedResources, asUser }),
  );
}

async function gitSection(
  { connection, http }: CheckParts,
  { env, sources: given }: CheckOptions,
  sources: readonly Source[],
): Promise<CheckSection> {
  const fileSources = rememberFileSources(given);
  return {
    title: 'Git',
    lines: await checkSources({ client: connection.client, http, fileSources, env }, sources),
  };
}

interface Listed {
  readonly objects: readonly KubernetesObject[];
  readonly lines: readonly CheckLine[];
}

/** A missing kind was told by the CRDs already. */
async function listOf(
  { connection }: Pick<CheckParts, 'connection'>,
  options: Pick<CheckOptions, 'watchNamespaces'>,
  kind: KindName,
): Promise<Listed> {
  const namespaces = options.watchNamespaces.length > 0 ? options.watchNamespaces : [undefined];
  const objects: KubernetesObject[] = [];
  const lines = await guarded(`list of ${kind}`, async () => {
    for (const namespace of namespaces) {
      const { items } = await connection.client
        .list(apiVersionOf(kind), kind, namespace ? { namespace } : {})
        .catch((error: unknown) => {
          if (isApiError(error, 'unknownKind')) return { items: [] };
          throw error;
        });
      objects.push(...items);
    }
    return [];
  });
  return { objects, lines };
}

async function sourcesOf(
  parts: CheckParts,
  options: CheckOptions,
): Promise<{ valid: readonly Source[]; lines: readonly CheckLine[] }> {
  if (options.sources.length > 0) return { valid: options.sources, lines: [] };
  const { objects, lines } = await listOf(parts, options, 'Source');
  const valid: Source[] = [];
  const refused: CheckLine[] = [];
  for (const object of objects) {
    const parsed = parseSource(object);
    if (parsed.ok) valid.push(parsed.value);
    else {
      const [problem] = parsed.problems;
      const detail = `${problem?.path ?? ''}: ${problem?.message ?? 'cannot be parsed'}`;
      refused.push(bad('failed', describe(object), detail, { actor: 'author', act: 'fix the Source' }));
    }
  }
  return { valid, lines: [...lines, ...refused] };
}
