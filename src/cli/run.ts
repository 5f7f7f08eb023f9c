import path from 'node:path';
import { limits } from '../api/limits.ts';
import { InputError } from '../api/problems.ts';
import { startApp } from '../server/app.ts';
import type { AppOptions, DefaultReceiver } from '../server/options.ts';
import { createLog, keepHeapSmall } from '../server/process.ts';
import type { CliCommand } from './command.ts';
import { exitCodes } from './failure.ts';
import { isHttpUrl, programsIn, releaseLimitsIn } from './flags.ts';
import { type ReceiverFlags, type RunFlags, withRunFlags } from './run-flags.ts';

/** `holdfast run`: the controller. */
export const runCommand: CliCommand = {
  register(command, { version }) {
    withRunFlags(command).action(async (flags: RunFlags) => {
      await run(optionsOf(flags, version));
    });
  },
};

/** Runs until a signal, or until another copy took over, and ends the process. */
async function run(options: AppOptions): Promise<never> {
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
    ]).catch(async (error: unknown) => {
      // Else what still listens would keep the process, and the process the Lease, without doing anything.
      setTimeout(() => process.exit(exitCodes.noAnswer), limits.drainMs).unref();
      await app.drain();
      throw error;
    });
    log.info({ end }, end === 'lost' ? 'the Lease was lost; exiting' : 'draining');
    setTimeout(() => process.exit(1), limits.drainMs);
    await app.drain();
    // A connection or a library's timer that is left has nothing to do any more, and must not keep the process.
    process.exit(end === 'lost' ? 1 : 0);
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
    flaggerNamespaces: flags.flaggerNamespaces,
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
    apiRate: { perSecond: flags.kubeconfigQps, burst: flags.kubeconfigBurst },
    sourceRate: { perSecond: flags.sourceQps, burst: flags.sourceBurst },
    concurrency: flags.threadiness,
    gitDiskBytes: flags.gitDiskMib * 1_048_576,
    defaultServiceAccount: flags.defaultServiceAccount,
    trustedSourceNamespaces: flags.trustedSourceNamespaces,
    ...releaseLimitsIn(flags),
    ...receiversOf(flags, process.env),
  };
}

/** Environment variables that win over the flag of the same meaning, as in Flagger. */
export type ReceiverEnvironment = Readonly<Record<string, string | undefined>>;

/** Receivers of Canaries that name none. */
interface Receivers {
  readonly defaultReceiver: DefaultReceiver | undefined;
  readonly eventWebhook: string | undefined;
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
