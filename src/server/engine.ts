import type { WatchedSet } from '../contracts/cluster.ts';
import type { Repositories } from '../contracts/git.ts';
import { createSourceAlerts } from '../engine/alerts/delivery.ts';
import { createApplied } from '../engine/applied.ts';
import { type CanaryController, createCanaryController } from '../engine/canary/canary-controller.ts';
import { createSourceController, type SourceController } from '../engine/sync/source-controller.ts';
import { createGitWriter, type GitWriter } from '../engine/write-back/git-writer.ts';
import { rolloutManager } from '../workload/compare/managed-fields.ts';
import { alertsOf, canaryParts } from './engine-canaries.ts';
import { openBindings, sourceParts } from './engine-sources.ts';
import { createShared, type EngineWiring, openSets } from './engine-wiring.ts';
import { countReleases } from './http/metrics-sink.ts';
import { namespacesOf } from './options.ts';
import { openDrillSchedule } from './schedules.ts';

/** Both controllers and the sets they share. */
export interface Engine {
  readonly canaries: CanaryController;
  readonly sources: SourceController;
  readonly canarySet: WatchedSet;
  readonly sourceSet: WatchedSet;
  /** What the Git stores take of the disk. */
  gitStores(): ReturnType<Repositories['usage']>;
  start(): void;
  /** Stops and waits: first the Sources, then the Canaries. */
  stop(): Promise<void>;
}

/** Wires the engine; nothing runs before `start`. */
export function createEngine(wiring: EngineWiring): Engine {
  const { options, fileSources } = wiring;
  const sets = openSets(wiring);
  const bindingSet = openBindings(wiring);
  const { canarySet, sourceSet } = sets;
  const shared = createShared(wiring);
  const ofCanaries = canaryParts(wiring, sets);
  const alerts = alertsOf(wiring, sets);
  const sourceAlerts = createSourceAlerts({ ...shared, alerts, sourceOf: sourceSet.get });
  const canaries: CanaryController = createCanaryController({
    ...shared,
    ...ofCanaries,
    applied: createApplied(rolloutManager),
    alerts,
    reproduce: (canaryKey, commit) => sources.reproduce(canaryKey, commit),
    writtenToGit: (canaryKey) => writer.conditionOf(canaryKey),
    onPass: wiring.sink.pass,
    onCorrected: wiring.sink.corrected,
  });
  const git = sourceParts(wiring);
  const sources: SourceController = createSourceController({
    ...shared,
    applied: createApplied('holdfast'),
    ...git,
    ...(options.shadow ? {} : { sourceAlerts }),
    sources: sourceSet,
    canarySet,
    bindingSet,
    watchesEverywhere: namespacesOf(options).length === 0,
    watchNamespaces: namespacesOf(options),
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
  const drills = openDrillSchedule(options.drillSchedule, {
    ...shared,
    options,
    dryRun: wiring.dryRun,
    canaries: () => canarySet.list(),
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
