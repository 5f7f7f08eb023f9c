import type { CanaryStatus } from '../api/canary/status.ts';
import type { Clock } from '../api/clock.ts';
import type { KindName } from '../api/kinds/kinds.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { sourceAccount } from '../api/metadata.ts';
import { InputError } from '../api/problems.ts';
import type {
  Cluster,
  DryRun,
  Log,
  OpenWatch,
  ReferenceKind,
  References,
  WatchedSet,
} from '../contracts/cluster.ts';
import type { Repositories } from '../contracts/git.ts';
import type { Alerts } from '../contracts/notifications.ts';
import { createSourceAlerts } from '../engine/alerts/delivery.ts';
import { createEventSink } from '../engine/alerts/event-sink.ts';
import { createApplied } from '../engine/applied.ts';
import { type CanaryController, createCanaryController } from '../engine/canary/canary-controller.ts';
import type { CanaryParts, EngineOptions } from '../engine/canary/context/context.ts';
import { watchFlagger } from '../engine/canary/context/flagger-watch.ts';
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
import type { HttpClient } from '../http/types.ts';
import { createHooks } from '../providers/hooks/webhook.ts';
import { routerFor, routers } from '../providers/routing/table.ts';
import { createBuildCache } from '../render/build/builder.ts';
import { findBuilders, workFolderIn } from '../render/build/programs.ts';
import { step } from '../rollout/step.ts';
import { openKind } from './cluster.ts';
import { createGitAccess, createOpenPoller, createRepositories, type GitAccess } from './git.ts';
import type { MetricsSink } from './http/metrics-sink.ts';
import { type AppOptions, DEFAULT_CLUSTER_NAME, namespacesOf } from './options.ts';
import { createAlertsPort, createMetricsPort } from './providers.ts';
import type { FileSources } from './source-files.ts';

/** What the engine is wired from. */
interface EngineWiring {
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
  /** Where the Lease and the key are. */
  readonly ownNamespace: string;
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
  const bindingSet = openBindings(wiring);
  const { canarySet, sourceSet, templates, alertProviders } = sets;
  const heads = createHeads();
  const events = createEventSink({ cluster, clock, log, instance: wiring.instance });
  const isOurs = () => true;
  const records = createRecords(cluster, secretKey);
  const shared = { clock, log, cluster, openWatch, events, heads, records, isOurs, random: Math.random };
  const coexistence = coexistenceParts(wiring);
  const alerts = alertsOf(wiring, alertProviders);
  const sourceAlerts = createSourceAlerts({ alerts, clock, log, events });
  const canaries: CanaryController = createCanaryController({
    ...shared,
    ...coexistence,
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
      for (const set of [...Object.values(sets), coexistence.flagger]) set.close();
      bindingSet?.close();
    },
  };
}

/** What Sources are read and written with. */
function sourceParts(wiring: EngineWiring) {
  const { options, clock, http: client, fileSources, secretKey, sink } = wiring;
  const access = createGitAccess({ client, clock, env: process.env, fileSources });
  const { clusterName, programs = {}, dataDirectory } = options;
  return {
    cluster: wiring.sourceCluster,
    ...{ secretKey, clusterName, tracksConfig: options.tracksConfig !== false },
    rights: rightsOf(wiring),
    builders: findBuilders(programs, workFolderIn(dataDirectory)),
    builds: createBuildCache(),
    repositories: repositoriesOf(wiring, access),
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
    ...{ defaultServiceAccount, areFromFiles, ownNamespace },
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
    forbidsOtherNamespaces: options.forbidsOtherNamespaces !== false,
    ...(options.concurrency ? { concurrency: options.concurrency } : {}),
    hasDefaultAlert: options.defaultReceiver !== undefined,
    eventWebhook: options.eventWebhook,
  };
}

function openSets({ openWatch, options }: EngineWiring) {
  const open = (kind: KindName) => openKind(openWatch, kind, namespacesOf(options));
  return {
    canarySet: open('Canary'),
    sourceSet: open('Source'),
    templates: open('MetricTemplate'),
    alertProviders: open('AlertProvider'),
  };
}

/** What the parts for coexistence with other tools are made from. */
interface CoexistenceWiring {
  readonly options: AppOptions;
  readonly cluster: Cluster;
  readonly dryRun: DryRun;
  readonly clock: Clock;
  readonly openWatch: OpenWatch;
  readonly secretKey: Uint8Array;
}

/** Coexistence with other tools (design section 2.5). */
function coexistenceParts({ options, cluster, dryRun, clock, openWatch, secretKey }: CoexistenceWiring): Pick<
  CanaryParts,
  'adoption' | 'flagger' | 'liveHeads'
> & {
  readonly isShadow: boolean;
} {
  const tracksConfig = options.tracksConfig !== false;
  return {
    liveHeads: createLiveHeads({ cluster, secretKey, tracksConfig }),
    adoption: createAdoption({ cluster, dryRun, secretKey, tracksConfig }),
    flagger: watchFlagger(openWatch, clock, namespacesOf(options)),
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

/** Looks objects that Canaries name up in the watched sets of their kinds. */
function createReferences(sets: {
  readonly templates: WatchedSet;
  readonly alertProviders: WatchedSet;
}): References {
  const byKind: Readonly<Record<ReferenceKind, WatchedSet>> = {
    MetricTemplate: sets.templates,
    AlertProvider: sets.alertProviders,
  };
  return {
    has: (kind, namespace, name) =>
      byKind[kind].synced() ? byKind[kind].get(namespace, name) !== undefined : undefined,
    onChange(listener) {
      for (const set of Object.values(byKind)) set.onChange(listener);
    },
  };
}
