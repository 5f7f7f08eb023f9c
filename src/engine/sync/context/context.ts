/** What the Source loop works with, and what the stages of a sync hand on. */

import type { Clock } from '../../../api/clock.ts';
import type { CommitInfo } from '../../../api/commit.ts';
import type { Incident } from '../../../api/incident.ts';
import type { KubernetesObject, NamespacedName } from '../../../api/kubernetes.ts';
import type { Source, SourceStatus } from '../../../api/source/source.ts';
import type { Cluster, EventSink, Log, OpenWatch, WatchedSet } from '../../../contracts/cluster.ts';
import type { Ancestry, Repository } from '../../../contracts/git.ts';
import type { CanaryPlan } from '../../../release/plan.ts';
import type { Release } from '../../../release/release.ts';
import type { BuildCache, Builders } from '../../../render/build/builder.ts';
import { createRenderCache } from '../../../render/render.ts';
import type {
  FileProblem,
  RenderCache,
  RenderedObject,
  RenderResult,
} from '../../../render/rendered-object.ts';
import type { SourceAlerts } from '../../alerts/delivery.ts';
import type { Applied } from '../../applied.ts';
import type { Claims } from '../../apply-set.ts';
import type { Heads } from '../../canary/context/heads.ts';
import { type Correction, type Corrections, createCorrections } from '../../corrections.ts';
import type { Failure } from '../../failure.ts';
import type { Records } from '../../records/records.ts';
import type { AccountRights, SourceRights } from '../scope/permissions.ts';
import type { NotPruned, PrunePlan } from '../scope/prune-plan.ts';
import type { SourceBindings } from '../scope/source-bindings.ts';
import type { EffectiveRest, ReleaseInForce } from './effective-snapshot.ts';
import type { Presence } from './presence.ts';
import type { Room } from './room.ts';

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
  readonly room: Room;
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
  /** The Sources that hold a Canary, or may where none does, are read again. */
  readonly rereadFor: (canary: KubernetesObject) => void;
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

// What is known about one Source between two syncs.

/** Everything one commit says, read whole (S24). */
export interface Snapshot {
  readonly commit: CommitInfo;
  readonly treeOid: string;
  /** Objects of no Canary, to be applied. */
  readonly rest: readonly RenderedObject[];
  readonly plans: readonly CanaryPlan[];
  readonly problems: readonly FileProblem[];
  /** Every object of the commit that can be in the cluster, those that rollouts write included. */
  readonly all: readonly KubernetesObject[];
  /** The same with the place that each stands at. */
  readonly entries: readonly RenderedObject[];
  /** `objectKey` of them. */
  readonly keys: ReadonlySet<string>;
  /** Objects that were rendered. */
  readonly objects: number;
  readonly lineOf: RenderResult['lineOf'];
  /** Ids of files outside the Source's path that it was rendered from, by path. */
  readonly outside: ReadonlyMap<string, string>;
  /** No object of the commit is missing in `all` for a file that could not be read or rendered. */
  readonly isWhole: boolean;
  /** Rendering the same commit again may lead to something else. */
  readonly isFleeting: boolean;
  /** Kinds that the cluster did not serve when it was read: whether they live in namespaces is not known. */
  readonly unknownKinds: ReadonlyArray<Pick<KubernetesObject, 'apiVersion' | 'kind'>>;
  /** Whether the others lived in namespaces then. */
  readonly scopes: ReadonlyArray<
    Pick<KubernetesObject, 'apiVersion' | 'kind'> & { readonly namespaced: boolean }
  >;
}

/** What one snapshot was applied as. */
export interface SnapshotInForce {
  /** Head's digest by Canary key; none where head holds no release. */
  readonly digests: ReadonlyMap<string, string>;
  /** `inForceKey` of what counted. */
  readonly key: string;
  /** Canaries that the Source speaks for. */
  readonly canaries: readonly NamespacedName[];
  readonly releases: readonly ReleaseInForce[];
  readonly effective: EffectiveRest;
}

/** An object that was not applied, and why. */
export interface ApplyFailure {
  /** CamelCase, for conditions. */
  readonly reason: string;
  readonly message: string;
  readonly object: KubernetesObject;
  readonly transient: boolean;
  /** Its writer has no right to write it. */
  readonly lacksRight?: boolean;
}

/** What applying a snapshot led to. */
export interface ApplyResult {
  readonly applied: number;
  /** Objects that were really written. */
  readonly changed: number;
  readonly failures: readonly ApplyFailure[];
  /** What another writer had changed and was corrected. */
  readonly drift: readonly Correction[];
  /** Objects with the fields that were taken from other managers, for people. */
  readonly taken: readonly string[];
}

/** Fields, as the API server names them, that are left to other managers, by the object as it was rendered. */
type FieldsLeft = Pick<WeakMap<KubernetesObject, readonly string[]>, 'get' | 'set'>;

/** A step of a sync that ended it. */
export interface SyncProblem {
  readonly condition: 'Fetched' | 'Rendered' | 'Ready';
  readonly reason: string;
  readonly message: string;
}

/** Requests that a look at the Source answers. */
export interface SourceRequests {
  readonly sync?: string | undefined;
  readonly approve?: string | undefined;
}

/** What is known about one Source; lost on restart, Git says it again. */
export interface SourceState {
  readonly key: string;
  readonly repository: Repository;
  /** Files as they were read last. */
  readonly rendered: RenderCache;
  readonly left: FieldsLeft;
  readonly drift: Corrections;
  head?: CommitInfo;
  /** Who signed head, where signatures are asked for. */
  signer?: string | undefined;
  snapshot?: Snapshot;
  /** The latest commit holds the same files as the one before: it has another name and nothing else. */
  isRenamed?: boolean;
  /** Generation and verbs the snapshot was read under; another one means reading again. */
  readUnder?: string;
  /** Keys of the Canaries that it speaks for: of the commit's, those whose target it may write. */
  canaries?: ReadonlySet<string>;
  /** What applying led to last, and of which commit: a newer snapshot may still wait for that. */
  result?: ApplyResult & { readonly commit: string };
  /** When something was written last. */
  appliedMs?: number;
  /** Commit and generation that the Sources it depends on have let in. */
  admitted?: string;
  /** Whether what was applied works; undefined without `spec.wait`. */
  health?: SourceHealth | undefined;
  /** What pruning led to; undefined where nothing is pruned. */
  pruned?: PruneResult | undefined;
  /** What `snapshot` was applied as; undefined before that, and where another tool applies. */
  inForce?: SnapshotInForce;
  /** What the last look answered. */
  requests?: SourceRequests;
  /** What the last approval opened. */
  approval?: NonNullable<SourceStatus['approval']>;
  /** `idOf` of the objects whose deletion it approved. */
  approvedObjects?: ReadonlySet<string>;
  /** Whether a rewritten history leads only to what is proven; for the applied commit and head. */
  rewritten?: { readonly pair: string; readonly isProven: boolean };
  /** The ledger refs of this cluster when they were read last: commit by Canary key, and which applied commits lead on from one of these. */
  ledger?: { readonly commits: ReadonlyMap<string, string>; readonly leadOn: Map<string, Ancestry> };
  problem?: SyncProblem | undefined;
  /** The last write of the status, which may be under way; never rejects. */
  telling?: Promise<void>;
  /** Why what was to be written of the status last was not. */
  untold?: Failure | undefined;
  /** When it is Stalled if nothing happens. */
  stalledAtMs?: number | undefined;
  /** On the clock of this process, since that of the one before may have been off by a day (S30); undefined: it is Ready, or not known yet. */
  notReadySinceMs?: number | undefined;
  /** The alert of that, since the API server may have taken what it gave no answer to. */
  owed?: Incident | undefined;
  /** Fields of the status that the installed CRD dropped last. */
  lost?: readonly string[];
  /** Releases of the last good plan, by Canary key. */
  readonly previous: Map<string, Release>;
  /** An applied object changed behind our back, or a write failed: apply again although Git has no news. */
  dirty: boolean;
}

/** The state of a Source of which nothing was read yet. */
export function newSourceState(key: string, repository: Repository, problem?: SyncProblem): SourceState {
  return {
    key,
    repository,
    rendered: createRenderCache(),
    left: new WeakMap(),
    drift: createCorrections(),
    previous: new Map(),
    dirty: false,
    problem,
  };
}

/** What pruning led to. */
export interface PruneResult {
  readonly plan: PrunePlan;
  /** Objects that were deleted now. */
  readonly removed: readonly KubernetesObject[];
  readonly failures: readonly { readonly reason: string; readonly message: string }[];
  /** Objects that the API server refused to delete since they changed; they are looked at again. */
  readonly changed: readonly NotPruned[];
  /** Why nothing could be decided; undefined: it was. */
  readonly unread: string | undefined;
  /** It is not over: to be looked at again although Git has no news. */
  readonly isPending: boolean;
  /** Another Source holds something that left Git, or it is not known whether it may. */
  readonly isHeld?: boolean;
  /** Key of the Source that must have looked at head before. */
  readonly waitsFor?: string;
  /** The approval that it was decided under. */
  readonly approval: string | undefined;
}

/** What is known of all objects of a Source. */
export interface SourceHealth {
  readonly objects: number;
  readonly failed: readonly string[];
  readonly progressing: readonly string[];
  /** Since when each of the latter was seen not to work, by `objectKey`. */
  readonly sinceMs: ReadonlyMap<string, number>;
  /** The time for it has passed for one of them, since they were applied and since it worked. */
  readonly isLate: boolean;
  /** When it passes for the first of the others; undefined: there is none. */
  readonly nextDueMs: number | undefined;
}
