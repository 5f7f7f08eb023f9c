/** What is known about one Source between two syncs. */

import type { CommitInfo } from '../../../api/commit.ts';
import type { Incident } from '../../../api/incident.ts';
import type { KubernetesObject, NamespacedName } from '../../../api/kubernetes.ts';
import type { SourceStatus } from '../../../api/source/source.ts';
import type { Repository } from '../../../contracts/git.ts';
import type { CanaryPlan } from '../../../release/plan.ts';
import type { Release } from '../../../release/release.ts';
import { createRenderCache } from '../../../render/render.ts';
import type {
  FileProblem,
  RenderCache,
  RenderedObject,
  RenderResult,
} from '../../../render/rendered-object.ts';
import type { Failure } from '../../failure.ts';
import { createDriftMemory, type DriftMemory, type SourceDrift } from '../scope/drift.ts';
import type { NotPruned, PrunePlan } from '../scope/prune-plan.ts';
import type { EffectiveRest, ReleaseInForce } from './effective-snapshot.ts';

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
  readonly drift: readonly SourceDrift[];
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
  readonly drift: DriftMemory;
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
  /** The ledger refs of this cluster when they were read last: commit by Canary key. */
  ledger?: { readonly commits: ReadonlyMap<string, string> };
  problem?: SyncProblem | undefined;
  /** The last write of the status, which may be under way; never rejects. */
  telling?: Promise<void>;
  /** Why what was to be written of the status last was not. */
  untold?: Failure | undefined;
  /** When it is Stalled if nothing happens. */
  stalledAtMs?: number | undefined;
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
    drift: createDriftMemory(),
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
