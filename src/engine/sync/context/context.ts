/** What the Source loop works with, and what the stages of a sync hand on. */

import type { Clock } from '../../../api/clock.ts';
import type { KubernetesObject, NamespacedName } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster, EventSink, Log, OpenWatch, WatchedSet } from '../../../contracts/cluster.ts';
import type { BuildCache, Builders } from '../../../render/build/builder.ts';
import type { SourceAlerts } from '../../alerts/delivery.ts';
import type { Applied } from '../../applied.ts';
import type { Claims } from '../../apply-set.ts';
import type { Heads } from '../../canary/context/heads.ts';
import type { Records } from '../../records/records.ts';
import type { AccountRights, SourceRights } from '../scope/permissions.ts';
import type { SourceBindings } from '../scope/source-bindings.ts';
import type { Presence } from './presence.ts';
import type { SourceState } from './state.ts';

/** The parts that all Sources share. */
export interface SourceParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly cluster: Cluster;
  readonly openWatch: OpenWatch;
  readonly events: EventSink;
  readonly heads: Heads;
  readonly applied: Applied;
  readonly claims: Claims;
  readonly presence: Presence;
  readonly accountRights: AccountRights;
  readonly rights: SourceRights;
  readonly bindings: SourceBindings;
  /** Name of this cluster in refs, branches and commit statuses. */
  readonly clusterName: string;
  readonly records: Pick<Records, 'load'>;
  /** HMAC key of the cluster, for digests of Secrets. */
  readonly secretKey: Uint8Array;
  /** Whether ConfigMaps and Secrets are part of releases; default true. */
  readonly tracksConfig?: boolean;
  /** The programs that build kustomizations and charts, and what they gave before. */
  readonly builders: Builders;
  readonly builds: BuildCache;
  /** Sources in the cluster, as watched. */
  readonly sources: () => readonly KubernetesObject[];
  /** One of them, by its key. */
  readonly source: (key: string) => KubernetesObject | undefined;
  /** Whether objects of all namespaces may be watched, or those of some alone. */
  readonly watchesEverywhere: boolean;
  /** Where they may be, otherwise. */
  readonly watchNamespaces: readonly string[];
  /** Canaries in the cluster that are ours, as watched. */
  readonly canaries: () => readonly KubernetesObject[];
  /** One of them, without a walk through all. */
  readonly canary: (name: NamespacedName) => KubernetesObject | undefined;
  /** Sends alerts of Sources; undefined: none are sent. */
  readonly sourceAlerts?: Pick<SourceAlerts, 'tell'>;
  /** Called with how many objects were corrected after another writer changed them, for metrics. */
  readonly onDrift?: (sourceKey: string, objects: number) => void;
  /** Called with how many files and folders were rendered that no cache held, for metrics. */
  readonly onRendered?: (sourceKey: string, count: number) => void;
  /** Looks at a Canary soon. */
  readonly wakeCanary: (canaryKey: string) => void;
}

/** One Source: what the loop works with, the Source as the cluster has it now, and what is known about it. */
export interface SourceContext {
  readonly parts: SourceParts;
  readonly source: Source;
  readonly state: SourceState;
}

/** One sync of it. */
export interface SyncContext extends SourceContext {
  readonly watch: SourceWatch;
  /** Aborted when the Source is no longer followed, and after `spec.timeout`. */
  readonly signal: AbortSignal;
}

/** Watches of what one Source applied, so that a foreign change is put right and an unchanged object costs nothing. */
export interface SourceWatch {
  /** The set that an object of this Source is in, once it was listed. */
  setOf(object: KubernetesObject): WatchedSet | undefined;
  /** Watches exactly the kinds and namespaces of these objects, and these places. */
  follow(objects: readonly KubernetesObject[], watched: WatchedPlaces): void;
  /** Everything in the cluster that has the Source's label and is watched. */
  members(): KubernetesObject[];
  /** Why `members` may not be all of them; undefined: they are. */
  notListed(): string | undefined;
  /** Kinds, as an inventory names them, that are watched somewhere. */
  kinds(): ReadonlySet<string>;
  close(): void;
}

/** A kind in one namespace, or without one. */
export interface Place {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
}

/** Where a Source's members are watched, and why that may not be everywhere. */
export interface WatchedPlaces {
  readonly places: readonly Place[];
  readonly notLooked: string | undefined;
}

/** The path of a Source as Git paths are written: without `./` and slashes at the ends. */
export function folderOf(source: Source): string {
  return (source.spec.path ?? '')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
}
