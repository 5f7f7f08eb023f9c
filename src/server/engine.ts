import type { CanaryStatus } from '../api/canary/status.ts';
import type { Clock } from '../api/clock.ts';
import { type KubernetesObject, sourceAccount } from '../api/kubernetes.ts';
import { InputError } from '../api/problems.ts';
import type { WatchedSet } from '../contracts/cluster.ts';
import type { Repositories } from '../contracts/git.ts';
import type { Alerts } from '../contracts/notifications.ts';
import { createSourceAlerts } from '../engine/alerts/delivery.ts';
import { createEventSink } from '../engine/alerts/event-sink.ts';
import { createApplied } from '../engine/applied.ts';
import { type CanaryController, createCanaryController } from '../engine/canary/canary-controller.ts';
import type { EngineOptions } from '../engine/canary/context/context.ts';
import { watchFlagger } from '../engine/canary/context/flagger-watch.ts';
import { watchFreezes } from '../engine/canary/context/freeze-watch.ts';
import { createHeads } from '../engine/canary/context/heads.ts';
import { createLiveHeads } from '../engine/canary/context/live-heads.ts';
import {
  createDrillSchedule,
  type DrillSchedule,
  type DrillScheduleParts,
} from '../engine/canary/drill/drill-schedule.ts';
import { createAdoption } from '../engine/canary/observe/adoption.ts';
import { createRecords } from '../engine/records/records.ts';
import type { SourceRights } from '../engine/sync/scope/permissions.ts';
import { createSourceController, type SourceController } from '../engine/sync/source-controller.ts';
import { createGitWriter, type GitWriter } from '../engine/write-back/git-writer.ts';
import { nextDelayMs, scheduleProblem } from '../git/poll/schedule.ts';
import { createHooks } from '../providers/hooks/webhook.ts';
import { routerFor, routers } from '../providers/routing/table.ts';
import { createBuildCache } from '../render/build/builder.ts';
import { findBuilders, workFolderIn } from '../render/build/programs.ts';
import { step } from '../rollout/step.ts';
import { createReferences, type EngineSets, type EngineWiring, openSets } from './engine-wiring.ts';
import { createOpenPoller, createRepositories } from './git.ts';
import { createGitAccess } from './git-access.ts';
import type { MetricsSink } from './http/metrics-sink.ts';
import { type AppOptions, DEFAULT_CLUSTER_NAME, namespacesOf } from './options.ts';
import { createAlertsPort, createMetricsPort } from './providers.ts';

/** Both controllers and the sets they share. */
export interface Engine {
  readonly canaries: CanaryController;
  readonly sources: SourceController;
  readonly canarySet: WatchedSet;
  readonly sourceSet: WatchedSet;
  /** What the Git stores take of the disk. */
  gitStores(): ReturnType<Repositories['usage']>;
  start(): void;
  /** Ends what is under way: first no more news from Git, then no more passes. */
  stop(): Promise<void>;
}

/** Wires the engine; nothing runs before `start`. */
export function createEngine(wiring: EngineWiring): Engine {
  const { options, fileSources, clock, log, cluster, openWatch, secretKey } = wiring;
  const sets = openSets(wiring);
  const bindingSet = openBindings(wiring);
  const { canarySet, sourceSet, alertProviders } = sets;
  const heads = createHeads();
  const events = createEventSink({ cluster, clock, log, instance: wiring.instance });
  const isOurs = () => true;
  const records = createRecords(cluster, secretKey);
  const shared = { clock, log, cluster, openWatch, events, heads, records, isOurs, random: Math.random };
  const ofCanaries = canaryParts(wiring, sets);
  const alerts = alertsOf(wiring, alertProviders);
  const sourceAlerts = createSourceAlerts({ alerts, clock, log, events });
  const canaries: CanaryController = createCanaryController({
    ...shared,
    ...ofCanaries,
    alerts,
    reproduce: (canaryKey, commit) => sources.reproduce(canaryKey, commit),
    writtenToGit: (canaryKey) => writer.conditionOf(canaryKey),
    onPass: wiring.sink.pass,
  });
  const git = sourceParts(wiring);
  const sources: SourceController = createSourceController({
    ...shared,
    applied: createApplied(),
    ...git,
    ...(options.shadow ? {} : { sourceAlerts }),
    sources: sourceSet,
    canarySet,
    bindingSet,
    watchesEverywhere: namespacesOf(options).length === 0,
    isFollowed: (source) => options.sourceFiles.length === 0 || fileSources.has(source),
    wakeCanary: canaries.wake,
    onSync(key, succeeded) {
      wiring.sink.sync(key, succeeded);
      if (!options.shadow) writer.sourceRead(key);
    },
  });
  const writer: GitWriter = createGitWriter({
    ...shared,
    clusterName: options.clusterName,
    documentation: options.runbookUrl,
    canaries: canarySet,
    gitOf: sources.gitOf,
    wakeCanary: canaries.wake,
  });
  const drills = openDrillSchedule(options.drillSchedule, clock, {
    cluster,
    log,
    events,
    options,
    records,
    dryRun: wiring.dryRun,
    canaries: () => canarySet.list().filter(isOurs),
  });
  countReleases(canarySet, wiring.sink);
  return {
    canaries,
    sources,
    canarySet,
    sourceSet,
    gitStores: git.repositories.usage,
    start() {
      sources.start();
      canaries.start();
      if (options.shadow) return;
      writer.start();
      drills?.start();
    },
    async stop() {
      await drills?.stop();
      await sources.stop();
      await sourceAlerts.stop();
      await writer.stop();
      await canaries.stop();
      for (const set of [...Object.values(sets), ofCanaries.flagger, ofCanaries.freezes]) set.close();
      bindingSet?.close();
    },
  };
}

/**
 * Counts ends of releases as the status of their Canary reports them; what was over before the start is not counted again, and neither is a
 * change of the phase without a release (a commit that goes back to the last-known-good).
 */
function countReleases(
  canaries: Pick<WatchedSet, 'get' | 'list' | 'onChange'>,
  sink: Pick<MetricsSink, 'ended'>,
): void {
  const seen = new Map<string, string>();
  const count = (canary: KubernetesObject) => {
    const { uid = '', namespace, name } = canary.metadata;
    const before = seen.get(uid);
    seen.delete(uid);
    if (!canaries.get(namespace, name)) return;
    const last = (canary.status as CanaryStatus | undefined)?.history?.[0];
    const end = last ? `${last.digest} ${last.endTime}` : '';
    seen.set(uid, end);
    if (last && before !== undefined && before !== end) sink.ended(canary, last.result);
  };
  canaries.onChange((changed) => {
    for (const canary of changed ? [changed] : canaries.list()) count(canary);
  });
}

/** The receivers of alerts. */
function alertsOf({ options, http, cluster }: EngineWiring, providers: WatchedSet): Alerts {
  const { clusterName, defaultReceiver, runbookUrl } = options;
  return createAlertsPort({
    http,
    cluster,
    providers,
    byDefault: defaultReceiver,
    clusterName: clusterName === DEFAULT_CLUSTER_NAME ? undefined : clusterName,
    documentation: runbookUrl,
  });
}

function limitsOf(options: AppOptions): EngineOptions {
  const { minAnalysisIntervalMs, meshProvider, selectorLabels, includeLabelPrefixes } = options;
  return {
    minIntervalMs: minAnalysisIntervalMs,
    defaultProvider: meshProvider,
    selectorLabels,
    includeLabelPrefixes,
    ...(options.routes ? { routes: options.routes } : {}),
    forbidsOtherNamespaces: options.forbidsOtherNamespaces !== false,
    ...(options.concurrency ? { concurrency: options.concurrency } : {}),
    hasDefaultAlert: options.defaultReceiver !== undefined,
    eventWebhook: options.eventWebhook,
  };
}

/** What Canaries are rolled out with, beside what they share with Sources. */
function canaryParts(wiring: EngineWiring, sets: EngineSets) {
  const { options, cluster, dryRun, clock, openWatch, secretKey, http, cloudIdentity, leadingSinceMs } =
    wiring;
  const tracksConfig = options.tracksConfig !== false;
  const { canarySet, templates } = sets;
  return {
    applied: createApplied(),
    ports: new Map(),
    routing: routerFor,
    routeKinds: routers.flatMap(({ kinds }) => kinds),
    step,
    canaries: canarySet,
    hooks: createHooks({ http, clock }),
    metrics: createMetricsPort({
      http,
      cloudIdentity,
      clock,
      templates,
      cluster,
      metricsServer: options.metricsServer,
      defaultProvider: options.meshProvider,
      metricsServerCredentials: options.metricsServerCredentials,
      metricCluster: { ...cluster, externalMetric: wiring.externalMetric },
      jobCluster: (account) => cluster.as(account),
      crossesNamespaces: options.forbidsOtherNamespaces === false,
    }),
    options: limitsOf(options),
    references: createReferences(sets),
    leadingSinceMs,
    liveHeads: createLiveHeads({ cluster, secretKey, tracksConfig }),
    adoption: createAdoption({ cluster, dryRun, secretKey, tracksConfig }),
    flagger: watchFlagger(openWatch, clock, namespacesOf(options)),
    freezes: watchFreezes(openWatch, namespacesOf(options), wiring.ownNamespace),
    isShadow: options.shadow === true,
  };
}

/** Drills by a cron expression (5 or 6 fields, UTC); without one there are none. Throws InputError for one that cannot be read. */
function openDrillSchedule(
  expression: string | undefined,
  clock: Clock,
  parts: Omit<DrillScheduleParts, 'clock' | 'nextDelayMs'>,
): DrillSchedule | undefined {
  if (expression === undefined) return undefined;
  const problem = scheduleProblem(expression, undefined, clock.nowMs());
  if (problem) throw new InputError(`--drill-schedule: ${problem}`);
  const next = (nowMs: number) => nextDelayMs({ kind: 'cron', expression }, nowMs, 0);
  return createDrillSchedule({ ...parts, clock, nextDelayMs: next });
}

/** What Sources are read and written with. */
function sourceParts(wiring: EngineWiring) {
  const { options, clock, http: client, fileSources, secretKey, sink } = wiring;
  const access = createGitAccess({ client, clock, env: process.env, fileSources });
  const {
    clusterName,
    programs = {},
    dataDirectory,
    gitDiskBytes: diskBytes,
    gitIdentity: identity,
  } = options;
  return {
    cluster: wiring.sourceCluster,
    secretKey,
    clusterName,
    tracksConfig: options.tracksConfig !== false,
    rights: rightsOf(wiring),
    builders: findBuilders(programs, workFolderIn(dataDirectory)),
    builds: createBuildCache(),
    repositories: createRepositories({ access, client, clock, dataDir: dataDirectory, diskBytes, identity }),
    openPoller: createOpenPoller(clock, Math.random),
    openForge: access.openForge,
    onDrift: sink.drift,
    onRendered: sink.rendered,
  };
}

/** Whose rights Sources are written with (ADR 38). A file on our own command line is the choice of who started us, as long as it says what is in the cluster. */
function rightsOf({ options, fileSources, ownNamespace }: EngineWiring): SourceRights {
  const { trustedSourceNamespaces = [], defaultServiceAccount } = options;
  const areFromFiles = options.sourceFiles.length > 0;
  const trustsFiles = areFromFiles && defaultServiceAccount === undefined;
  const isOwnWatched = namespacesOf(options).includes(ownNamespace);
  return {
    defaultServiceAccount,
    areFromFiles,
    ownNamespace,
    crossNamespaceRefs: options.forbidsOtherNamespaces === false,
    isTrusted: (source) =>
      trustedSourceNamespaces.includes(source.metadata.namespace ?? '') ||
      (trustsFiles && fileSources.isUnchanged(source)),
    protectedNamespaces: ['kube-system', ...(isOwnWatched ? [] : [ownNamespace])],
  };
}

/**
 * The RoleBindings of the account of Sources that name none. Where Holdfast is confined to namespaces, `holdfast install` prints them, and with
 * accounts of one's own or files none are needed.
 */
function openBindings({ openWatch, options }: EngineWiring): WatchedSet | undefined {
  const isElsewhere = options.sourceFiles.length > 0 || options.defaultServiceAccount !== undefined;
  if (isElsewhere || options.shadow || namespacesOf(options).length > 0) return undefined;
  return openWatch({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    name: sourceAccount,
    metadataOnly: true,
  });
}
