import type { CanaryStatus } from '../api/canary/status.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { WatchedSet } from '../contracts/cluster.ts';
import type { Repositories } from '../contracts/git.ts';
import { createSourceAlerts } from '../engine/alerts/delivery.ts';
import { createEventSink } from '../engine/alerts/event-sink.ts';
import { createApplied } from '../engine/applied.ts';
import { type CanaryController, createCanaryController } from '../engine/canary/canary-controller.ts';
import { createHeads } from '../engine/canary/context/heads.ts';
import { createRecords } from '../engine/records/records.ts';
import { createSourceController, type SourceController } from '../engine/sync/source-controller.ts';
import { createGitWriter, type GitWriter } from '../engine/write-back/git-writer.ts';
import { alertsOf, canaryParts, openDrillSchedule } from './canary-wiring.ts';
import { type EngineWiring, openSets } from './engine-wiring.ts';
import type { MetricsSink } from './http/metrics-sink.ts';
import { namespacesOf } from './options.ts';
import { openBindings, sourceParts } from './source-wiring.ts';

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
