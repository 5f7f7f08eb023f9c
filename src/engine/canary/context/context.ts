/** The parts of the Canary loop, and one observation of a Canary. */
import type { Canary } from '../../../api/canary/canary.ts';
import type { Clock } from '../../../api/clock.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Cluster, EventSink, Log, MetricQuestion, References } from '../../../contracts/cluster.ts';
import type {
  RouteKind,
  RouteReference,
  Router,
  RouteSettings,
  Routing,
} from '../../../contracts/routing.ts';
import type { ServicePort } from '../../../release/release.ts';
import type { Action, Decision } from '../../../rollout/outcome.ts';
import type { AdoptableView, World } from '../../../rollout/world.ts';
import { serviceNames } from '../../../workload/shared/metadata.ts';
import type { AlertOutbox } from '../../alerts/alert-outbox.ts';
import type { Applied } from '../../applied.ts';
import type { Checks } from '../../checks/checks.ts';
import type { EventHooks } from '../../checks/event-hooks.ts';
import { unknownProvider } from '../../failure.ts';
import type { Records } from '../../records/records.ts';
import type { ConditionNews } from '../../status-patch.ts';
import type { PrimaryDriftMemory } from './drift-memory.ts';
import type { FlaggerWatch } from './flagger-watch.ts';
import type { FreezeWatch } from './freeze-watch.ts';
import type { Head } from './head.ts';
import type { Heads } from './heads.ts';
import type { LiveConfig } from './live-config.ts';
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

/** Everything one pass over a Canary uses. */
export interface CanaryParts {
  readonly clock: Clock;
  /** Since when this process leads, on that clock; undefined for a reader that never writes. */
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
  /** Absent in a reader that takes what the status says. */
  readonly freezes?: FreezeWatch;
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

/** The parts that observing a Canary takes; none of them writes. */
export type ReadParts = Pick<
  CanaryParts,
  | 'adoption'
  | 'canaries'
  | 'checks'
  | 'clock'
  | 'cluster'
  | 'drift'
  | 'freezes'
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

/** Reads releases of Canaries from their live targets (design section 2.5). */
export interface LiveHeads extends LiveConfig {
  /**
   * What the live target says; undefined while it is not known which ConfigMaps and Secrets there are. Reads their content only when one
   * of them changed.
   */
  read(canary: Canary, target: KubernetesObject, view: NamespaceView): Promise<Head | undefined>;
  /** Whether the last read named this ConfigMap or Secret. */
  names(canaryKey: string, config: KubernetesObject): boolean;
  forget(canaryKey: string): void;
}

/** The routing provider of a Canary. */
export function providerOf(canary: Canary, options: Pick<EngineOptions, 'defaultProvider'>): string {
  return canary.spec.provider ?? options.defaultProvider;
}

/** The router of a provider. Throws EngineError UnknownProvider. */
export function routerOf(parts: Pick<CanaryParts, 'routing'>, provider: string): Router {
  const router = parts.routing(provider);
  if (!router) throw unknownProvider(provider);
  return router;
}

/** What an action is performed with: the parts, and the observation it was decided on. */
export interface ActionContext {
  readonly parts: CanaryParts;
  readonly observation: Observation;
}

/** What is needed to read more about an observed Canary. */
export interface ReadContext {
  readonly parts: ReadParts;
  readonly observation: Observation;
}

/** Performs one type of action; true when something was written. Throws StaleView when the cluster changed since the observation. */
export type Performer<Type extends Action['type']> = (
  context: ActionContext,
  action: Extract<Action, { type: Type }>,
) => Promise<boolean>;

/** How actions are done, by their type. */
export type Performers = { readonly [Type in Action['type']]: Performer<Type> };

/** The objects that a router reads and writes for a Canary. */
export function routeReferences(router: Router, canary: Canary): readonly RouteReference[] {
  const names = serviceNames(canary);
  return router.references?.(canary, names) ?? router.kinds.map((kind) => ({ ...kind, name: names.apex }));
}
