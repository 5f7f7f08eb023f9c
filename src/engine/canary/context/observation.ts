/** One observation of a Canary, and what observing takes. */
import type { Canary } from '../../../api/canary/canary.ts';
import type { Clock } from '../../../api/clock.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Cluster, Log, MetricQuestion } from '../../../contracts/cluster.ts';
import type { RouteSettings, Routing } from '../../../contracts/routing.ts';
import type { ServicePort } from '../../../release/release.ts';
import type { AdoptableView, World } from '../../../rollout/world.ts';
import type { Checks } from '../../checks/checks.ts';
import type { Records } from '../../records/records.ts';
import type { PrimaryDriftMemory } from './drift-memory.ts';
import type { FreezeWatch } from './freeze-watch.ts';
import type { Heads } from './heads.ts';
import type { LiveHeads } from './live-config.ts';
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
  readonly canaries: {
    get(key: string): KubernetesObject | undefined;
    list(): readonly KubernetesObject[];
    remember(object: KubernetesObject): void;
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
