import { homedir } from 'node:os';
import path from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { limits } from '../api/limits.ts';
import { InputError } from '../api/problems.ts';
import { DEFAULT_IDENTITY } from '../git/poll/git-source.ts';
import { scheduleProblem } from '../git/poll/schedule.ts';
import { startApp } from '../server/app.ts';
import type { ListenAddress } from '../server/http/http-server.ts';
import { type AppOptions, DEFAULT_CLUSTER_NAME } from '../server/options.ts';
import { createLog, isLogLevel, keepHeapSmall } from '../server/process.ts';
import type { DefaultReceiver } from '../server/providers.ts';
import type { CliCommand } from './command.ts';
import {
  commaList,
  httpUrl,
  includeLabelPrefixOption,
  ingressAnnotationsPrefixOption,
  ingressClassOption,
  isHttpUrl,
  kubeconfigOption,
  type LimitFlags,
  limitsIn,
  meshProviderOption,
  minAnalysisIntervalOption,
  type ProgramFlags,
  programsIn,
  selectorLabelsOption,
  watchNamespacesOption,
  withLimitFlags,
  withProgramFlags,
} from './flags.ts';

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
  readonly probeListen?: ListenAddress;
  readonly dashboardListen?: ListenAddress;
  readonly dashboardProxySecret?: string;
  readonly logLevel: string;
  readonly minAnalysisInterval: number;
  readonly meshProvider: string;
  readonly metricsServer: string;
  readonly metricsServerCredentials?: string;
  readonly allowOutbound: string[];
  readonly cloudIdentity?: boolean;
  readonly selectorLabels: string[];
  readonly includeLabelPrefix: string[];
  readonly ingressAnnotationsPrefix: string;
  readonly ingressClass?: string;
  readonly drillSchedule?: string;
  readonly runbookUrl: string | undefined;
  readonly shadow?: true;
}

/** `holdfast run`: the controller. */
export const runCommand: CliCommand = {
  register(program, { version, setExitCode }) {
    const command = withFlags(
      program.command('run').description('run the controller: follow Git and roll out what it says'),
    );
    withReceiverFlags(withLimitFlags(withProgramFlags(command))).action(async (flags: RunFlags) => {
      setExitCode(await run(optionsOf(flags, version)));
    });
  },
};

function withFlags(command: Command): Command {
  const dataHome = process.env.XDG_DATA_HOME || path.join(homedir(), '.local', 'share');
  return command
    .option('--source <file...>', 'files with Source objects (default: the Sources in the cluster)', [])
    .addOption(kubeconfigOption())
    .option('--namespace <name>', 'watch only this namespace, and keep the Lease in it')
    .addOption(watchNamespacesOption())
    .option('--data-dir <folder>', 'folder for Git repositories', path.join(dataHome, 'holdfast'))
    .option(
      '--cluster-name <name>',
      'name of this cluster in Git refs, branches, commit statuses and alerts',
      clusterName,
      DEFAULT_CLUSTER_NAME,
    )
    .option('--git-author-name <name>', 'author of commits written to Git', DEFAULT_IDENTITY.name)
    .option('--git-author-email <address>', 'email address of that author', DEFAULT_IDENTITY.email)
    .option('--listen <host:port>', 'address of /healthz, /readyz, /metrics and /hooks', listenAddress, {
      host: '127.0.0.1',
      port: 8080,
    })
    .option(
      '--probe-listen <host:port>',
      'serve /healthz and /readyz at this address, too, for the probes of the kubelet',
      listenAddress,
    )
    .option(
      '--dashboard-listen <host:port>',
      'address of the dashboard (default: it is not served)',
      listenAddress,
    )
    .option(
      '--dashboard-proxy-secret <file>',
      'file with the secret that a login proxy in front of the dashboard sends as X-Holdfast-Proxy-Secret; then its X-Forwarded-User and X-Forwarded-Groups count',
    )
    .option('--log-level <level>', 'trace, debug, info, warn, error or silent', logLevel, 'info')
    .addOption(minAnalysisIntervalOption())
    .addOption(meshProviderOption())
    .option(
      '--metrics-server <url>',
      'Prometheus for the built-in metrics',
      httpUrl,
      'http://prometheus:9090',
    )
    .option(
      '--metrics-server-credentials <folder>',
      'folder, such as a mounted Secret, with the files token, or username and password, for the Prometheus of --metrics-server; also ca.crt, tls.crt and tls.key',
    )
    .option(
      '--allow-outbound <hosts>',
      'hosts (HOST or HOST:PORT, comma-separated) that may be reached although they are loopback, link-local or metadata addresses',
      commaList,
      [],
    )
    .option(
      '--cloud-identity',
      "lend the cloud identity of Holdfast's pod to every CloudWatch and Cloud Monitoring template without a Secret",
    )
    .addOption(selectorLabelsOption())
    .addOption(includeLabelPrefixOption())
    .addOption(ingressAnnotationsPrefixOption())
    .addOption(ingressClassOption())
    .option(
      '--drill-schedule <cron>',
      'cron schedule (UTC) to dry-run every last known good release (default: never)',
      cron,
    )
    .option('--shadow', 'log what would be done and write nothing, to run next to another controller')
    .option(
      '--runbook-url <url>',
      'root URL of the documentation, for links to runbooks in alerts',
      // With a slash at the end, so that a path can follow.
      (text: string) => httpUrl(text).replace(/\/?$/, '/'),
    );
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
      terminationSignal(),
      app.lost.then(() => 'lost' as const),
      app.leading.then(() => new Promise<never>(() => undefined)),
    ]);
    log.info({ end }, end === 'lost' ? 'the Lease was lost; exiting' : 'draining');
    const late = setTimeout(() => process.exit(1), limits.drainMs);
    await app.drain();
    clearTimeout(late);
    return end === 'lost' ? 1 : 0;
  } finally {
    clearInterval(alive);
  }
}

function terminationSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal));
  });
}

function optionsOf(flags: RunFlags, version: string): AppOptions {
  if (flags.namespace && flags.watchNamespaces.length > 0)
    throw new InputError('--namespace and --watch-namespaces cannot be used together');
  if (flags.shadow && flags.source.length > 0)
    throw new InputError('--shadow follows the Sources in the cluster and cannot be used with --source');
  if (flags.dashboardProxySecret && !flags.dashboardListen)
    throw new InputError('--dashboard-proxy-secret needs --dashboard-listen');
  const { POD_NAME, POD_UID } = process.env;
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
    probeListen: flags.probeListen,
    dashboard: flags.dashboardListen && {
      listen: flags.dashboardListen,
      proxySecretFile: flags.dashboardProxySecret,
    },
    logLevel: flags.logLevel,
    minAnalysisIntervalMs: flags.minAnalysisInterval,
    meshProvider: flags.meshProvider,
    metricsServer: flags.metricsServer,
    metricsServerCredentials: flags.metricsServerCredentials,
    allowOutbound: flags.allowOutbound,
    cloudIdentity: flags.cloudIdentity === true,
    selectorLabels: flags.selectorLabels,
    includeLabelPrefixes: flags.includeLabelPrefix,
    routes: {
      ingressAnnotationsPrefix: flags.ingressAnnotationsPrefix,
      ingressClass: flags.ingressClass,
    },
    drillSchedule: flags.drillSchedule,
    runbookUrl: flags.runbookUrl,
    pod: POD_NAME && POD_UID ? { name: POD_NAME, uid: POD_UID } : undefined,
    shadow: flags.shadow === true,
    programs: programsIn(flags, process.env),
    ...limitsIn(flags),
    ...receiversOf(flags, process.env),
  };
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

/** Flagger's flags for receivers of Canaries that name none (flagger-behaviour 5.1). */
export interface ReceiverFlags {
  readonly eventWebhook?: string;
  readonly slackUrl?: string;
  readonly slackProxyUrl?: string;
  readonly slackUser: string;
  readonly slackChannel: string;
  readonly msteamsUrl?: string;
  readonly msteamsProxyUrl?: string;
}

/** Environment variables that win over the flag of the same meaning, as in Flagger. */
export type ReceiverEnvironment = Readonly<Record<string, string | undefined>>;

/** Receivers of Canaries that name none. */
interface Receivers {
  readonly defaultReceiver: DefaultReceiver | undefined;
  readonly eventWebhook: string | undefined;
}

/** Adds the flags. Tokens are taken from the environment alone: every user of the machine can read the arguments of a process. */
export function withReceiverFlags(command: Command): Command {
  return command
    .option(
      '--event-webhook <url>',
      'receives the Events of Canaries without a webhook of type event',
      httpUrl,
    )
    .option('--slack-url <url>', 'Slack webhook for Canaries without alerts of their own', httpUrl)
    .option('--slack-channel <name>', 'Slack channel', 'general')
    .option('--slack-user <name>', 'author name shown in Slack', 'flagger')
    .option('--slack-proxy-url <url>', 'HTTP proxy for Slack', httpUrl)
    .option(
      '--msteams-url <url>',
      'Microsoft Teams webhook for Canaries without alerts of their own; used instead of Slack',
      httpUrl,
    )
    .option('--msteams-proxy-url <url>', 'HTTP proxy for Microsoft Teams', httpUrl);
}

/** From flags and environment. Throws InputError for an invalid address, without showing it. */
export function receiversOf(flags: ReceiverFlags, env: ReceiverEnvironment): Receivers {
  const eventWebhook = address(env, 'EVENT_WEBHOOK_URL') ?? flags.eventWebhook;
  const teams = address(env, 'MSTEAMS_URL') ?? flags.msteamsUrl;
  const teamsProxy = address(env, 'MSTEAMS_PROXY_URL') ?? flags.msteamsProxyUrl;
  if (teams !== undefined) {
    const spec = { type: 'msteams' as const, address: teams, ...(teamsProxy ? { proxy: teamsProxy } : {}) };
    return { eventWebhook, defaultReceiver: { spec, token: undefined } };
  }
  const slack = address(env, 'SLACK_URL') ?? flags.slackUrl;
  const proxy = address(env, 'SLACK_PROXY_URL') ?? flags.slackProxyUrl;
  if (slack === undefined) return { eventWebhook, defaultReceiver: undefined };
  const { slackChannel: channel, slackUser: username } = flags;
  const spec = { type: 'slack' as const, address: slack, channel, username, ...(proxy ? { proxy } : {}) };
  return { eventWebhook, defaultReceiver: { spec, token: env.SLACK_TOKEN || undefined } };
}

function address(env: ReceiverEnvironment, name: string): string | undefined {
  const text = env[name];
  if (!text) return undefined;
  if (isHttpUrl(text)) return text;
  throw new InputError(`environment variable ${name} must be an http:// or https:// URL`);
}
