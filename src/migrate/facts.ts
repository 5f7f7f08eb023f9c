/** What the cluster says about a move. */
import type { KubernetesObject, ObjectReference } from '../api/kubernetes.ts';

/** An object of an inventory, with its live state; undefined: it does not exist any more. */
export interface Member {
  readonly reference: ObjectReference;
  readonly live?: KubernetesObject | undefined;
}

/** Who applies the file that the other tool's object is in. */
export interface Parent {
  /** `Kustomization flux-system/flux-system`. */
  readonly name: string;
  /** Whether it deletes what leaves its files. */
  readonly prunes: boolean;
  /** A command that makes it look now. */
  readonly look: string;
}

/** What would become of the objects if the Source were there, by a dry run. */
export interface Comparison {
  /** Why it could not be found out. */
  readonly problem?: string | undefined;
  /** Of the inventory, and not in the Source. */
  readonly missing: readonly string[];
  /** In the Source, and not in the cluster. */
  readonly created: readonly string[];
  /** `Deployment shop/web: spec.template.spec.containers[app].image`. */
  readonly changed: readonly string[];
  /** Objects that the Source would not apply, and why. */
  readonly refused: readonly string[];
}

/** Everything of one move, read at one time. */
export interface MoveFacts {
  /** The Kustomization or Application. */
  readonly owner?: KubernetesObject | undefined;
  /** The GitRepository of a Kustomization. */
  readonly repository?: KubernetesObject | undefined;
  readonly source?: KubernetesObject | undefined;
  readonly parent?: Parent | undefined;
  /** Of the owner's inventory. */
  readonly members: readonly Member[];
  /** Of the Source's set. */
  readonly ownMembers: readonly Member[];
  /** Objects of the Source's kinds that carry the owner's mark and are not in its set. */
  readonly leftBehind: readonly string[];
  /** Who else needs the owner. */
  readonly dependents: readonly string[];
  /** Alerts and Receivers of Flux. */
  readonly notifications: readonly KubernetesObject[];
  /** Sources that depend on the Source. */
  readonly sourceDependents: readonly string[];
  /** Who else needs the owner's repository. */
  readonly repositoryUsers: readonly string[];
  /** Sources that the new one depends on and that are not Ready. */
  readonly missingDependencies: readonly string[];
  /** Whether the cluster has our kinds. */
  readonly hasKinds: boolean;
  /** Undefined where it is not needed any more. */
  readonly comparison?: Comparison | undefined;
}

/** On what is moved, while it is moved: whether pruning is turned on at the end. */
export const pruneAfterAnnotation = 'holdfast.dev/prune-after-move';
