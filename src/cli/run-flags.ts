/** The flags of `holdfast run`. Other commands read their values from the Deployment of the controller (controller-flags.ts). */
import { homedir } from 'node:os';
import path from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { dnsLabel } from '../api/kubernetes.ts';
import { limits } from '../api/limits.ts';
import { parseDurationMs } from '../api/time.ts';
import { DEFAULT_IDENTITY } from '../git/poll/git-source.ts';
import { scheduleProblem } from '../git/poll/schedule.ts';
import { workloadProviders } from '../providers/routing/table.ts';
import type { ListenAddress } from '../server/http/http-server.ts';
import { DEFAULT_CLUSTER_NAME } from '../server/options.ts';
import { logLevels } from '../server/process.ts';
import { defaultSelectorLabels } from '../workload/shared/metadata.ts';
import {
  commaList,
  httpUrl,
  ingressClassOption,
  kubeconfigOption,
  type LimitFlags,
  matching,
  type ProgramFlags,
  withLimitFlags,
  withProgramFlags,
} from './flags.ts';

/** The flags of `holdfast run`, parsed. */
export interface RunFlags extends ReceiverFlags, LimitFlags, ProgramFlags {
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
  readonly flaggerNamespaces: string[];
  readonly cloudIdentity?: boolean;
  readonly selectorLabels: string[];
  readonly includeLabelPrefix: string[];
  readonly ingressAnnotationsPrefix: string;
  readonly ingressClass?: string;
  readonly drillSchedule?: string;
  readonly runbookUrl: string | undefined;
  readonly shadow?: true;
}

/** Declares the flags of `holdfast run`. */
export function withRunFlags(command: Command): Command {
  return withReceiverFlags(withLimitFlags(withProgramFlags(withRolloutFlags(withServerFlags(command)))));
}

function withServerFlags(command: Command): Command {
  const dataHome = process.env.XDG_DATA_HOME || path.join(homedir(), '.local', 'share');
  return (
    command
      .option('--source <file...>', 'files with Source objects (default: the Sources in the cluster)', [])
      // In the arguments of a Deployment an empty one stands for none.
      .addOption(kubeconfigOption().argParser(String))
      .option('--namespace <name>', 'watch only this namespace, and keep the Lease in it')
      .option('--watch-namespaces <names>', 'watch only these namespaces (comma-separated)', commaList, [])
      .option('--data-dir <folder>', 'folder for Git repositories', path.join(dataHome, 'holdfast'))
      .option(
        '--cluster-name <name>',
        'name of this cluster in Git refs, branches, commit statuses and alerts',
        clusterName,
        DEFAULT_CLUSTER_NAME,
      )
      .option('--git-author-name <name>', 'author of commits written to Git', DEFAULT_IDENTITY.name)
      .option('--git-author-email <address>', 'email address of that author', DEFAULT_IDENTITY.email)
      .addOption(
        new Option(
          '--listen <host:port>',
          'address of /healthz, /readyz, /metrics, /hooks and the built-in gates',
        )
          .argParser(listenAddress)
          .default({ host: '127.0.0.1', port: 8080 }, '127.0.0.1:8080'),
      )
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
      .option('--log-level <level>', 'trace, debug, info, warn, error, fatal or silent', logLevel, 'info')
  );
}

function withRolloutFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--min-analysis-interval <duration>',
        'minimum analysis interval; shorter intervals are raised to it',
      )
        .argParser(duration)
        .default(limits.minAnalysisIntervalMs, `${limits.minAnalysisIntervalMs / 1000}s`),
    )
    .option(
      '--mesh-provider <name>',
      'routing provider of Canaries without spec.provider',
      provider,
      'kubernetes',
    )
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
      '--flagger-namespaces <names>',
      'namespaces in which a running Flagger makes Holdfast pause (comma-separated; default: all that are watched)',
      commaList,
      [],
    )
    .option(
      '--cloud-identity',
      "lend the cloud identity of Holdfast's pod to every CloudWatch and Cloud Monitoring template without a Secret",
    )
    .option(
      '--selector-labels <names>',
      'labels that tell primary from canary pods (comma-separated)',
      commaList,
      [...defaultSelectorLabels],
    )
    .option(
      '--include-label-prefix <prefixes>',
      'prefixes of labels to copy to generated objects (comma-separated, * for all)',
      commaList,
      [],
    )
    .option(
      '--ingress-annotations-prefix <prefix>',
      'prefix of the annotations of ingress-nginx',
      'nginx.ingress.kubernetes.io',
    )
    .addOption(ingressClassOption())
    .option(
      '--drill-schedule <cron>',
      'cron schedule (UTC) to dry-run every last known good release (default: never)',
      cron,
    )
    .option('--shadow', 'log what would be done and write nothing, to run next to another controller')
    .option(
      '--runbook-url <url>',
      'URL of a copy of this repository, whose docs/runbooks alerts link to',
      // With a slash at the end, so that a path can follow.
      (text: string) => httpUrl(text).replace(/\/?$/, '/'),
    );
}

const clusterName = matching(dnsLabel, 'must be lower-case letters, digits and dashes, at most 63.');

function duration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= 1) return ms;
  throw new InvalidArgumentError('must be a duration such as 10s or 500ms.');
}

function provider(text: string): string {
  if (workloadProviders().includes(text)) return text;
  throw new InvalidArgumentError(`must be one of ${workloadProviders().join(', ')}.`);
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
  if (logLevels.includes(text)) return text;
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
