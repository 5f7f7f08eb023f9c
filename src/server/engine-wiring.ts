import type { Clock } from '../api/clock.ts';
import type {
  Cluster,
  DryRun,
  Log,
  OpenWatch,
  ReferenceKind,
  References,
  WatchedSet,
} from '../contracts/cluster.ts';
import { createEventSink } from '../engine/alerts/event-sink.ts';
import { createHeads } from '../engine/canary/context/heads.ts';
import { createRecords } from '../engine/records/records.ts';
import type { HttpClient } from '../http/types.ts';
import type { CloudIdentity, MetricCluster } from '../providers/metrics/provider.ts';
import { openKind } from './cluster.ts';
import type { MetricsSink } from './http/metrics-sink.ts';
import { type AppOptions, namespacesOf } from './options.ts';
import type { FileSources } from './source-files.ts';

/** What the engine is wired from. */
export interface EngineWiring {
  readonly options: AppOptions;
  /** The Sources of `--source` files; without any, those of the cluster are followed. */
  readonly fileSources: FileSources;
  readonly clock: Clock;
  /** When this process began to lead, on that clock. */
  readonly leadingSinceMs: number;
  readonly log: Log;
  readonly cluster: Cluster;
  /** The same, with a separate request budget. */
  readonly sourceCluster: Cluster;
  readonly dryRun: DryRun;
  readonly openWatch: OpenWatch;
  readonly http: HttpClient;
  /** Undefined: it is not lent to MetricTemplates. */
  readonly cloudIdentity?: CloudIdentity | undefined;
  readonly externalMetric: MetricCluster['externalMetric'];
  readonly secretKey: Uint8Array;
  readonly instance: string;
  /** Where the Lease and the key are. */
  readonly ownNamespace: string;
  readonly sink: MetricsSink;
}

/** Watches of our own kinds. */
export function openSets({ openWatch, options }: EngineWiring) {
  const namespaces = namespacesOf(options);
  return {
    canarySet: openKind(openWatch, 'Canary', namespaces),
    sourceSet: openKind(openWatch, 'Source', namespaces),
    templates: openKind(openWatch, 'MetricTemplate', namespaces),
    alertProviders: openKind(openWatch, 'AlertProvider', namespaces),
  };
}

/** Those watches. */
export type EngineSets = ReturnType<typeof openSets>;

/** What both controllers and the writer of Git use. */
export function createShared({ clock, log, cluster, openWatch, instance, secretKey }: EngineWiring) {
  return {
    clock,
    log,
    cluster,
    openWatch,
    events: createEventSink({ cluster, clock, log, instance }),
    heads: createHeads(),
    records: createRecords(cluster, secretKey),
    random: Math.random,
  };
}

/** Looks objects that Canaries name up in the watched sets of their kinds. */
export function createReferences(sets: {
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
