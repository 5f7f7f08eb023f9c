/** One observation of a Canary, and what observing takes. */
import type { Canary } from '../../../api/canary/canary.ts';
import type { Clock } from '../../../api/clock.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Cluster, Log, MetricQuestion, WatchedSet } from '../../../contracts/cluster.ts';
import type { RouteReference, Router, RouteSettings, Routing } from '../../../contracts/routing.ts';
import type { ConfigCopyView, ForeignChange } from '../../../health/workload-view.ts';
import type { ServicePort, WorkloadSettings } from '../../../release/release.ts';
import type { AdoptableView, World } from '../../../rollout/world.ts';
import { serviceNames } from '../../../workload/shared/metadata.ts';
import type { Checks } from '../../checks/checks.ts';
import { type Corrections, createCorrections } from '../../corrections.ts';
import { unknownProvider } from '../../failure.ts';
import type { Records } from '../../records/records.ts';
import type { FreezeWatch } from './freeze-watch.ts';
import type { Head, Heads } from './heads.ts';
import type { NamespaceView } from './namespace-view.ts';
import type { LostRecords } from './reproduction.ts';

/** Limits and defaults set by flags. */
export interface EngineOptions {
  readonly minIntervalMs: number;
  /** Provider of Canaries that name none. */
  readonly defaultProvider: string;
  /** Label keys that may tell primary from canary pods, in order of preference. */
  readonly selectorLabels: readonly string[];
  /** Label prefixes that copies take over. */
  readonly includeLabelPrefixes: readonly string[];
  /** What the operator sets for all routes. */
  readonly routes?: RouteSettings;
  /** Canaries may not refer to objects of other namespaces. */
  readonly forbidsOtherNamespaces?: boolean;
  /** Passes that run side by side; default 8. */
  readonly concurrency?: number;
  /** There is a receiver for Canaries without alerts of their own. */
  readonly hasDefaultAlert?: boolean;
  /** Address that gets the Events of Canaries without webhooks of type event. */
  readonly eventWebhook?: string | undefined;
}

/** The routing provider of a Canary. */
export function providerOf(canary: Canary, options: Pick<EngineOptions, 'defaultProvider'>): string {
  return canary.spec.provider ?? options.defaultProvider;
}

/** The router of a provider. Throws EngineError UnknownProvider. */
export function routerOf(parts: Pick<ReadParts, 'routing'>, provider: string): Router {
  const router = parts.routing(provider);
  if (!router) throw unknownProvider(provider);
  return router;
}

/** The objects that a router reads and writes for a Canary. */
export function routeReferences(router: Router, canary: Canary): readonly RouteReference[] {
  const names = serviceNames(canary);
  return router.references?.(canary, names) ?? router.kinds.map((kind) => ({ ...kind, name: names.apex }));
}

/** Reads releases of Canaries from their live targets (design section 2.5), and the config of releases that is not in Git. */
export interface LiveHeads {
  /**
   * What the live target says; undefined while it is not known which ConfigMaps and Secrets there are. Reads their content only when one
   * of them changed.
   */
  read(canary: Canary, target: KubernetesObject, view: NamespaceView): Promise<Head | undefined>;
  /**
   * The head that Git gives, with its config that is not in Git; undefined as of `read`. One that names none is returned unchanged; content is
   * read only when one of the objects changed.
   */
  withLiveConfig(canaryKey: string, head: Head, view: NamespaceView): Promise<Head | undefined>;
  /** Whether one of these reads named this ConfigMap or Secret last. */
  names(canaryKey: string, config: KubernetesObject): boolean;
  forget(canaryKey: string): void;
}

/** The parts that observing a Canary takes; none of them writes. */
export interface ReadParts {
  readonly clock: Clock;
  /** Since when this process leads, on that clock; undefined for a reader that never writes. */
  readonly leadingSinceMs?: number | undefined;
  readonly log: Log;
  readonly cluster: Cluster;
  readonly routing: Routing;
  readonly heads: Heads;
  readonly liveHeads: LiveHeads;
  /** Absent in a reader that takes what the status says. */
  readonly freezes?: FreezeWatch;
  readonly adoption: Adoption;
  readonly checks: Checks;
  readonly records: Records;
  readonly lostRecords: LostRecords;
  readonly drift: PrimaryDriftMemory;
  /** Ports by digest, so that a steady Canary reads no record. */
  readonly ports: Map<string, readonly ServicePort[]>;
  readonly options: EngineOptions;
  /** All Canaries that are ours, as watched. */
  readonly canaries: Pick<WatchedSet, 'byKey' | 'remember'> & {
    get(key: string): KubernetesObject | undefined;
    list(): readonly KubernetesObject[];
  };
  /** The watched content of a namespace that has Canaries. */
  readonly namespace: (namespace: string) => NamespaceView;
}

/** One Canary and what belongs to it, at one moment. */
export interface Observation {
  readonly canary: Canary;
  readonly world: World;
  readonly view: NamespaceView;
  readonly target: KubernetesObject | undefined;
  readonly primary: KubernetesObject | undefined;
  readonly provider: string;
  /** Where both sides are pods of one workload: names of the pods of its newest template, and of the others. */
  readonly revision?: MetricQuestion['pods'];
  /** Something could not be read: it is asked again after this time. */
  readonly againMs?: number | undefined;
}

/** Finds out what a primary runs whose digest does not tell (flagger-behaviour 2.16). */
export interface Adoption {
  /** Undefined: its digest says it, or there is nothing to take over. */
  find(
    parts: Pick<ReadParts, 'heads' | 'options'>,
    observation: Observation,
  ): Promise<AdoptableView | undefined>;
}

/** What is needed to read more about an observed Canary. */
export interface ReadContext {
  readonly parts: ReadParts;
  readonly observation: Observation;
}

/** What is known about the primary of one Canary, as it was written last. */
export interface KnownPrimary {
  /** Identifies the object, its release and settings; for another id the entry is built anew. */
  readonly id: string;
  /** Undefined where it stands between two releases. */
  readonly applied: KubernetesObject | undefined;
  readonly settings: WorkloadSettings;
  /** The primary had all fields once: one that is missing later was removed by another manager, and not dropped by the server. */
  hasMatched: boolean;
  /** What reading it once gave, for this version of what it asks for. */
  found?: { readonly version: unknown; readonly change: ForeignChange | undefined };
}

/** Which copies the primary's pods need; their content is not kept. */
export interface KnownCopies {
  /** The primary, its version and release. */
  readonly id: string;
  readonly copies: ReadonlyArray<Pick<ConfigCopyView, 'kind' | 'name'> & { readonly original?: string }>;
  /** Those without which its pods start, too. */
  readonly optional: ReadonlyArray<Pick<ConfigCopyView, 'kind' | 'name'> & { readonly original: string }>;
  /** What reading a copy once gave, by kind and name, for this version of it. */
  readonly found: Map<string, { readonly version: string; readonly view: ConfigCopyView }>;
  /** Versions of originals that are not tracked, so that there is no copy of them. */
  readonly untracked: Set<string>;
}

/** What is remembered of one Canary. */
interface DriftEntry {
  /** What others had changed of what the rollout keeps, and was put back. */
  readonly corrections: Corrections;
  primary?: KnownPrimary;
  copies?: KnownCopies;
}

/** By Canary key; lost on restart, and then built anew. */
type PrimaryDriftMemory = Map<string, DriftEntry>;

/** Whether the primary of a Canary needs this ConfigMap or Secret as it was written. */
export function keepsConfig(
  { drift }: { readonly drift: PrimaryDriftMemory },
  key: string,
  { kind, metadata }: KubernetesObject,
): boolean {
  const { copies = [] } = drift.get(key)?.copies ?? {};
  return copies.some((copy) => copy.kind === kind && copy.name === metadata.name);
}

/** The entry of a Canary, made where there is none. */
export function entryOf(memory: PrimaryDriftMemory, key: string): DriftEntry {
  const entry = memory.get(key) ?? { corrections: createCorrections() };
  memory.set(key, entry);
  return entry;
}
