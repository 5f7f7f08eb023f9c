import { homedir } from 'node:os';
import path from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { parseDurationMs } from '../api/duration.ts';
import { limits } from '../api/limits.ts';
import { createLog, isLogLevel } from '../app/log.ts';
import { keepHeapSmall } from '../app/memory.ts';
import { type AppOptions, DEFAULT_CLUSTER_NAME, InputError } from '../app/options.ts';
import { startApp } from '../app.ts';
import { DEFAULT_IDENTITY } from '../git/git-source.ts';
import { scheduleProblem } from '../git/schedule.ts';
import { workloadProviders } from '../routing/table.ts';
import type { ListenAddress } from '../web/http-server.ts';
import { defaultSelectorLabels } from '../workload/selector.ts';
import type { CliCommand } from './command.ts';
import { type ProgramFlags, programsIn, withProgramFlags } from './program-flags.ts';
import { type LimitFlags, limitsIn, withLimitFlags } from './run-limits.ts';
import { httpUrl, type ReceiverFlags, receiversOf, withReceiverFlags } from './run-receivers.ts';

interface RunFlags extends ReceiverFlags, LimitFlags, ProgramFlags {
  readonly source: string[];
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly watchNamespaces: string[];
  readonly dataDir: string;
  readonly clusterName: string;
  readonly gitAuthorName: string;
  readonly gitAuthorEmail: string;
  readonly listen: ListenAddress;
  readonly logLevel: string;
  readonly minAnalysisInterval: number;
  readonly meshProvider: string;
  readonly metricsServer: string;
  readonly selectorLabels: string[];
  readonly includeLabelPrefix: string[];
  readonly drillSchedule?: string;
  readonly runbookUrl: string | undefined;
  readonly shadow?: true;
}

/** `holdfast run`: the controller. */
export const runCommand: CliCommand = {
  register(program, { version, setExitCode }) {
    const command = withFlags(program.command('run').description('follow Git and roll out what it says'));
    withReceiverFlags(withLimitFlags(withProgramFlags(command))).action(async (flags: RunFlags) => {
      setExitCode(await run(optionsOf(flags, version)));
    });
  },
};

function withFlags(command: Command): Command {
  return command
    .option(
      '--source <file...>',
      'files with Source objects; without it the Sources of the cluster are followed',
      [],
    )
    .option(
      '--kubeconfig <file>',
      'kubeconfig; default: KUBECONFIG, the service account of the pod, ~/.kube/config',
    )
    .option('--namespace <name>', 'watch only this namespace, and keep the Lease in it')
    .option('--watch-namespaces <names>', 'watch only these namespaces (comma list)', commaList, [])
    .option('--data-dir <folder>', 'where Git repositories are kept', defaultDataDirectory())
    .option(
      '--cluster-name <name>',
      'name of this cluster in refs, branches and commit statuses that are written to Git, and in alerts',
      clusterName,
      DEFAULT_CLUSTER_NAME,
    )
    .option('--git-author-name <name>', 'author of commits that are written to Git', DEFAULT_IDENTITY.name)
    .option('--git-author-email <address>', 'address of that author', DEFAULT_IDENTITY.email)
    .option('--listen <host:port>', 'address of /healthz, /readyz, /metrics and /hooks', listenAddress, {
      host: '127.0.0.1',
      port: 8080,
    })
    .option('--log-level <level>', 'trace, debug, info, warn, error or silent', logLevel, 'info')
    .option(
      '--min-analysis-interval <duration>',
      'shortest analysis interval; smaller ones are raised to it',
      duration,
      limits.minAnalysisIntervalMs,
    )
    .option('--mesh-provider <name>', 'routing provider of Canaries that name none', provider, 'kubernetes')
    .option('--metrics-server <url>', 'Prometheus of built-in metrics', httpUrl, 'http://prometheus:9090')
    .option(
      '--selector-labels <names>',
      'labels that tell primary from canary pods (comma list)',
      commaList,
      [...defaultSelectorLabels],
    )
    .option(
      '--include-label-prefix <prefixes>',
      'label prefixes that copies take over (comma list, * for all)',
      commaList,
      [],
    )
    .option(
      '--drill-schedule <cron>',
      'when to try every last-known-good by dry-run (UTC); default: never by itself',
      cron,
    )
    .option('--shadow', 'decide and log what would be done, and write nothing: beside another controller')
    .option('--runbook-url <url>', 'root of the documentation that alerts link runbooks to', folderUrl);
}

/** Runs until a signal, or until another copy took over. The result is the exit code. */
async function run(options: AppOptions): Promise<number> {
  const log = await createLog(options.logLevel);
  keepHeapSmall();
  const app = await startApp(options, log);
  log.info({ url: app.url, version: options.version }, 'Holdfast is starting');
  // Without it the process would end while only timers that keep nothing alive are left.
  const alive = setInterval(() => undefined, 60_000);
  try {
    const end = await Promise.race([
      signalled(),
      app.lost.then(() => 'lost' as const),
      app.leading.then(() => new Promise<never>(() => undefined)),
    ]);
    log.info({ end }, end === 'lost' ? 'the Lease was lost; ending' : 'draining');
    const late = setTimeout(() => process.exit(1), limits.drainMs);
    await app.drain();
    clearTimeout(late);
    return end === 'lost' ? 1 : 0;
  } finally {
    clearInterval(alive);
  }
}

function signalled(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal));
  });
}

function optionsOf(flags: RunFlags, version: string): AppOptions {
  if (flags.namespace && flags.watchNamespaces.length > 0)
    throw new InputError('--namespace and --watch-namespaces cannot be used together');
  if (flags.shadow && flags.source.length > 0)
    throw new InputError('--shadow follows the Sources of the cluster: --source would write one');
  return {
    version,
    sourceFiles: flags.source,
    kubeconfig: flags.kubeconfig,
    namespace: flags.namespace,
    watchNamespaces: flags.watchNamespaces,
    dataDirectory: path.resolve(flags.dataDir),
    clusterName: flags.clusterName,
    gitIdentity: { name: flags.gitAuthorName, email: flags.gitAuthorEmail },
    listen: flags.listen,
    logLevel: flags.logLevel,
    minAnalysisIntervalMs: flags.minAnalysisInterval,
    meshProvider: flags.meshProvider,
    metricsServer: flags.metricsServer,
    selectorLabels: flags.selectorLabels,
    includeLabelPrefixes: flags.includeLabelPrefix,
    drillSchedule: flags.drillSchedule,
    runbookUrl: flags.runbookUrl,
    pod: podIn(process.env),
    shadow: flags.shadow === true,
    programs: programsIn(flags, process.env),
    ...limitsIn(flags),
    ...receiversOf(flags, process.env),
  };
}

function podIn({ POD_NAME: name, POD_UID: uid }: NodeJS.ProcessEnv): AppOptions['pod'] {
  return name && uid ? { name, uid } : undefined;
}

function defaultDataDirectory(): string {
  const base = process.env.XDG_DATA_HOME || path.join(homedir(), '.local', 'share');
  return path.join(base, 'holdfast');
}

function commaList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}

function clusterName(text: string): string {
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)) return text;
  throw new InvalidArgumentError('must be lower-case letters, digits and dashes, at most 63.');
}

function listenAddress(text: string): ListenAddress {
  const found = /^(?<host>\[[0-9a-f:]+\]|[^:]*):(?<port>\d{1,5})$/i.exec(text)?.groups;
  const port = Number(found?.port);
  if (!found || port > 65_535)
    throw new InvalidArgumentError('must be HOST:PORT, as 127.0.0.1:8080 or [::1]:8080.');
  return { host: (found.host || '0.0.0.0').replace(/^\[|\]$/g, ''), port };
}

function cron(text: string): string {
  const problem = scheduleProblem(text, undefined, Date.now());
  if (problem === undefined) return text;
  throw new InvalidArgumentError(problem);
}

function logLevel(text: string): string {
  if (isLogLevel(text)) return text;
  throw new InvalidArgumentError('must be trace, debug, info, warn, error, fatal or silent.');
}

/** A duration of the command line in milliseconds. Throws InvalidArgumentError. */
export function duration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= 1) return ms;
  throw new InvalidArgumentError('must be a duration such as 10s or 500ms.');
}

/** A routing provider that this version knows. Throws InvalidArgumentError. */
export function provider(text: string): string {
  if (workloadProviders().includes(text)) return text;
  throw new InvalidArgumentError(`must be one of ${workloadProviders().join(', ')}.`);
}

/** With a slash at the end, so that a path can follow. */
function folderUrl(text: string): string {
  return httpUrl(text).replace(/\/?$/, '/');
}
