/** What the Canary loop works with, and what it saw of one Canary. */
import type { Canary } from '../../../api/canary/canary.ts';
import type { Clock } from '../../../api/clock.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Cluster, EventSink, Log, References } from '../../../contracts/cluster.ts';
import type { RouteKind, Routing } from '../../../contracts/routing.ts';
import type { ConfigCopyView, ForeignChange } from '../../../health/workload-view.ts';
import type { ServicePort, WorkloadSettings } from '../../../release/release.ts';
import type { Action, Decision } from '../../../rollout/action.ts';
import type { AdoptableView, World } from '../../../rollout/world.ts';
import type { ExpectedCopy } from '../../../workload/expected-copies.ts';
import type { RevisionPods } from '../../../workload/shared/native-kind.ts';
import type { AlertOutbox } from '../../alerts/alert-outbox.ts';
import type { Applied } from '../../applied.ts';
import type { Checks } from '../../checks/checks.ts';
import type { EventHooks } from '../../checks/event-hooks.ts';
import type { Records } from '../../records/records.ts';
import type { ConditionNews } from '../../status-patch.ts';
import type { FlaggerWatch } from './flagger-watch.ts';
import type { Heads } from './heads.ts';
import type { LiveHeads } from './live-heads.ts';
import type { NamespaceView } from './namespace-view.ts';
import type { AfterRevert, LostRecords } from './reproduction.ts';

/** Limits and defaults set by flags. */
export interface EngineOptions {
  readonly minIntervalMs: number;
  /** Provider of Canaries that name none. */
  readonly defaultProvider: string;
  /** Label keys that may tell primary from canary pods, in order of preference. */
  readonly selectorLabels: readonly string[];
  /** Label prefixes that copies take over. */
  readonly includeLabelPrefixes: readonly string[];
  /** Canaries may not refer to objects of other namespaces. */
  readonly forbidsOtherNamespaces?: boolean;
  /** Passes that run side by side; default 8. */
  readonly concurrency?: number;
  /** There is a receiver for Canaries without alerts of their own. */
  readonly hasDefaultAlert?: boolean;
  /** Address that gets the Events of Canaries without webhooks of type event. */
  readonly eventWebhook?: string | undefined;
}

/** Everything one pass over a Canary uses. */
export interface CanaryParts {
  readonly clock: Clock;
  /** Since when this process leads, on that clock; undefined for who only looks. */
  readonly leadingSinceMs?: number | undefined;
  readonly log: Log;
  readonly cluster: Cluster;
  readonly routing: Routing;
  readonly references: References;
  /** Kinds of the routing objects of every provider. */
  readonly routeKinds: readonly RouteKind[];
  readonly events: EventSink;
  readonly eventHooks: EventHooks;
  readonly heads: Heads;
  readonly liveHeads: LiveHeads;
  readonly flagger: FlaggerWatch;
  readonly adoption: Adoption;
  readonly checks: Checks;
  readonly records: Records;
  readonly afterRevert: AfterRevert;
  readonly outbox: AlertOutbox;
  readonly lostRecords: LostRecords;
  /** What of a Canary is in Git, for its condition; undefined: not looked at yet. */
  readonly writtenToGit: (canaryKey: string) => ConditionNews | 'absent' | undefined;
  readonly applied: Applied;
  readonly drift: PrimaryDriftMemory;
  /** Ports by digest, so that a steady Canary reads no record. */
  readonly ports: Map<string, readonly ServicePort[]>;
  readonly options: EngineOptions;
  /** The pure core; a parameter so that tests can put their own decisions here. */
  readonly step: (world: World) => Decision;
  /** All Canaries that are ours, as watched. */
  readonly canaries: {
    get(key: string): KubernetesObject | undefined;
    list(): readonly KubernetesObject[];
    remember(object: KubernetesObject): void;
  };
  /** The watched content of a namespace that has Canaries. */
  readonly namespace: (namespace: string) => NamespaceView;
}

/** The parts that looking at a Canary takes; nothing of it writes. */
export type ReadParts = Pick<
  CanaryParts,
  | 'adoption'
  | 'canaries'
  | 'checks'
  | 'clock'
  | 'cluster'
  | 'drift'
  | 'heads'
  | 'leadingSinceMs'
  | 'liveHeads'
  | 'log'
  | 'lostRecords'
  | 'namespace'
  | 'options'
  | 'ports'
  | 'records'
  | 'routing'
>;

/** One Canary and what belongs to it, at one moment. */
export interface Observation {
  readonly canary: Canary;
  readonly world: World;
  readonly view: NamespaceView;
  readonly target: KubernetesObject | undefined;
  readonly primary: KubernetesObject | undefined;
  readonly provider: string;
  /** Where both sides are pods of one workload: which are whose. */
  readonly revision?: RevisionPods | undefined;
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

/** The routing provider of a Canary. */
export function providerOf(canary: Canary, options: Pick<EngineOptions, 'defaultProvider'>): string {
  return canary.spec.provider ?? options.defaultProvider;
}

/** `{ uid, resourceVersion }` of a live object, for preconditions. */
export function versionOf(object: KubernetesObject): { uid: string; resourceVersion: string } {
  return { uid: object.metadata.uid ?? '', resourceVersion: object.metadata.resourceVersion ?? '' };
}

/** What an action is done with: the parts, and the observation it was decided on. */
export interface ActionContext {
  readonly parts: CanaryParts;
  readonly observation: Observation;
}

/** What a further look is made with. */
export interface ReadContext {
  readonly parts: ReadParts;
  readonly observation: Observation;
}

/** Names of the actions. */
export type ActionType = Action['type'];

/** Does one type of action; true when something was written. Throws StaleView when the world is not what was observed. */
export type Performer<Type extends ActionType> = (
  context: ActionContext,
  action: Extract<Action, { type: Type }>,
) => Promise<boolean>;

/** What is known about the primary of one Canary, as it was written last. */
export interface KnownPrimary {
  /** The object, its release and settings; another one is built anew. */
  readonly id: string;
  /** Undefined where it stands between two releases. */
  readonly applied: KubernetesObject | undefined;
  readonly settings: WorkloadSettings;
  /** The primary said all of it once: what is missing later was taken away, and is not what the server never took. */
  hasMatched: boolean;
  /** What reading it once gave, for this generation. */
  found?: { readonly generation: unknown; readonly change: ForeignChange | undefined };
}

/** Which copies the primary's pods need; their content is not kept. */
export interface KnownCopies {
  /** The primary, its version and release. */
  readonly id: string;
  readonly copies: ReadonlyArray<Pick<ExpectedCopy, 'kind' | 'name' | 'original'>>;
  /** What reading a copy once gave, by kind and name, for this version of it. */
  readonly found: Map<string, { readonly version: string; readonly view: ConfigCopyView }>;
}

/** What is remembered of one Canary. */
interface DriftEntry {
  primary?: KnownPrimary;
  copies?: KnownCopies;
}

/** By Canary key; lost on restart, and then built anew. */
type PrimaryDriftMemory = Map<string, DriftEntry>;

/** The entry of a Canary, made where there is none. */
export function entryOf(memory: PrimaryDriftMemory, key: string): DriftEntry {
  const entry = memory.get(key) ?? {};
  memory.set(key, entry);
  return entry;
}
