/** What the Canary loop works with, and what it saw of one Canary. */
import type { Canary } from '../../api/canary.ts';
import type { Clock } from '../../api/clock.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { ServicePort } from '../../release/release.ts';
import type { Decision } from '../../rollout/action.ts';
import type { AdoptableView, World } from '../../rollout/world.ts';
import type { RevisionPods } from '../../workload/native/revision-pods.ts';
import type { AlertOutbox } from '../alerts/alert-outbox.ts';
import type { FlaggerWatch } from '../beside/flagger-watch.ts';
import type { LiveHeads } from '../beside/live-heads.ts';
import type { ConditionNews } from '../conditions.ts';
import type { DriftMemory } from '../observe/drift-memory.ts';
import type { Heads } from '../observe/heads.ts';
import type { LostRecords } from '../observe/lost-records.ts';
import type { NamespaceView } from '../observe/namespace-view.ts';
import type { Applied } from '../perform/applied.ts';
import type { Cluster, EventSink, Log } from '../ports/ports.ts';
import type { References } from '../ports/references-port.ts';
import type { RouteKind, Routing } from '../ports/routing-port.ts';
import type { Records } from '../records/records.ts';
import type { AfterRevert } from './after-revert.ts';
import type { Checks } from './checks.ts';
import type { EventHooks } from './event-hooks.ts';

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
  /** Address that is told the Events of Canaries without webhooks of type event. */
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
  readonly drift: DriftMemory;
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
  /** Undefined: its digest tells, or there is nothing that could be taken over. */
  look(
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
