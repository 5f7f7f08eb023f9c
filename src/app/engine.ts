import type { Clock } from '../api/clock.ts';
import { apiVersionOf, type KindName } from '../api/kinds.ts';
import { createEventSink } from '../engine/alerts/event-sink.ts';
import { type CanaryController, createCanaryController } from '../engine/canary/canary-controller.ts';
import type { EngineOptions } from '../engine/canary/canary-parts.ts';
import { createHeads } from '../engine/observe/heads.ts';
import { createApplied } from '../engine/perform/applied.ts';
import type { Alerts } from '../engine/ports/alert-port.ts';
import type { Repositories } from '../engine/ports/git-port.ts';
import type { Cluster, DryRun, Log, OpenWatch, WatchedSet } from '../engine/ports/ports.ts';
import { createRecords } from '../engine/records/records.ts';
import { createSourceAlerts } from '../engine/source/source-alerts.ts';
import { createSourceController, type SourceController } from '../engine/source/source-controller.ts';
import { createGitWriter, type GitWriter } from '../engine/write-back/git-writer.ts';
import { createHooks } from '../hooks/call.ts';
import type { HttpClient } from '../http/types.ts';
import { createBuildCache } from '../render/build/build-cache.ts';
import { findBuilders, workFolderIn } from '../render/build/programs.ts';
import { step } from '../rollout/step.ts';
import { routerFor, routers } from '../routing/table.ts';
import type { MetricsSink } from '../web/metrics-sink.ts';
import { createAlertsPort } from './alerts-port.ts';
import { besideParts } from './beside.ts';
import { countReleases } from './count-releases.ts';
import { openDrillSchedule } from './drill-port.ts';
import { createGitAccess, type GitAccess } from './git-access.ts';
import { createOpenPoller, createRepositories } from './git-port.ts';
import { createMetricsPort } from './metrics-port.ts';
import { type AppOptions, DEFAULT_CLUSTER_NAME, namespacesOf } from './options.ts';
import { createReferences } from './references.ts';
import type { FileSources } from './source-files.ts';
import { unionOf } from './watch-port.ts';

/** What the engine is wired from. */
export interface EngineWiring {
  readonly options: AppOptions;
  /** The Sources of our own command line; without any, those of the cluster are followed. */
  readonly fileSources: FileSources;
  readonly clock: Clock;
  /** When this process began to lead, on that clock. */
  readonly leadingSinceMs: number;
  readonly log: Log;
  readonly cluster: Cluster;
  /** The same, over a request budget of its own. */
  readonly sourceCluster: Cluster;
  readonly dryRun: DryRun;
  readonly openWatch: OpenWatch;
  readonly http: HttpClient;
  readonly secretKey: Uint8Array;
  readonly instance: string;
  readonly sink: MetricsSink;
}

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

const traffic = { routing: routerFor, routeKinds: routers.flatMap(({ kinds }) => kinds) };

/** Wires the engine; nothing runs before `start`. */
export function createEngine(wiring: EngineWiring): Engine {
  const { options, fileSources, clock, leadingSinceMs, log, cluster, openWatch, http, secretKey } = wiring;
  const sets = openSets(wiring);
  const { canarySet, sourceSet, templates, alertProviders } = sets;
  const heads = createHeads();
  const events = createEventSink({ cluster, clock, log, instance: wiring.instance });
  const isOurs = () => true;
  const records = createRecords(cluster, secretKey);
  const shared = { clock, log, cluster, openWatch, events, heads, records, isOurs, random: Math.random };
  const beside = besideParts(wiring);
  const alerts = alertsOf(wiring, alertProviders);
  const sourceAlerts = createSourceAlerts({ alerts, clock, log, events });
  const canaries: CanaryController = createCanaryController({
    ...shared,
    ...beside,
    applied: createApplied(),
    ports: new Map(),
    ...traffic,
    step,
    canaries: canarySet,
    hooks: createHooks({ http, clock }),
    metrics: createMetricsPort({ http, clock, metricsServer: options.metricsServer, templates, cluster }),
    alerts,
    ...{ options: limitsOf(options), references: createReferences(sets), leadingSinceMs },
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
    ...{ cluster, log, events, options, records, dryRun: wiring.dryRun },
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
      for (const set of [...Object.values(sets), beside.flagger]) set.close();
    },
  };
}

/** What Sources are read and written with. */
function sourceParts(wiring: EngineWiring) {
  const { options, clock, http: client, fileSources, secretKey, sink } = wiring;
  const access = createGitAccess({ client, clock, env: process.env, fileSources });
  const { clusterName, defaultServiceAccount, programs = {}, dataDirectory } = options;
  return {
    cluster: wiring.sourceCluster,
    ...{ secretKey, clusterName, defaultServiceAccount, tracksConfig: options.tracksConfig !== false },
    builders: findBuilders(programs, workFolderIn(dataDirectory)),
    builds: createBuildCache(),
    repositories: repositoriesOf(wiring, access),
    openPoller: createOpenPoller(clock, Math.random),
    openForge: access.openForge,
    onDrift: sink.drift,
    onRendered: sink.rendered,
  };
}

function repositoriesOf({ options, http: client, clock }: EngineWiring, access: GitAccess) {
  const { dataDirectory: dataDir, gitIdentity: identity } = options;
  return createRepositories({ access, client, clock, dataDir, identity });
}

function alertsOf({ options, http, cluster }: EngineWiring, providers: WatchedSet): Alerts {
  const { clusterName, defaultReceiver, runbookUrl } = options;
  return createAlertsPort({
    ...{ http, cluster, providers },
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
    forbidsOtherNamespaces: options.forbidsOtherNamespaces === true,
    ...(options.concurrency ? { concurrency: options.concurrency } : {}),
    hasDefaultAlert: options.defaultReceiver !== undefined,
    eventWebhook: options.eventWebhook,
  };
}

function openSets(wiring: EngineWiring) {
  return {
    canarySet: openKind(wiring, 'Canary'),
    sourceSet: openKind(wiring, 'Source'),
    templates: openKind(wiring, 'MetricTemplate'),
    alertProviders: openKind(wiring, 'AlertProvider'),
  };
}

/** All namespaces, or those that flags name. */
function openKind({ openWatch, options }: EngineWiring, kind: KindName): WatchedSet {
  const apiVersion = apiVersionOf(kind);
  const namespaces = namespacesOf(options);
  if (namespaces.length === 0) return openWatch({ apiVersion, kind });
  return unionOf(namespaces.map((namespace) => openWatch({ apiVersion, kind, namespace })));
}
