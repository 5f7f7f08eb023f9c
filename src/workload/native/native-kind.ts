/** What a kind of workload has to offer to be rolled out in place (ADR 21, 27). */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { DriftView, WorkloadView } from '../../health/workload-view.ts';
import type { WorkloadSettings } from '../../release/release.ts';
import type { ViewSource } from '../kind.ts';
import type { NodeRanks } from './node-order.ts';

/** A view of pods, without what is compared with Git. */
export type PodsView = Omit<WorkloadView, keyof DriftView>;

/** How a workload is held where it is: fields of its spec over the user's own, and marks beside those every kind has. */
export interface Held {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly marks?: Readonly<Record<string, string>>;
  /** Whose template it has meanwhile. Default: that of the release that is tried. */
  readonly template?: 'promoted';
}

/** A pod to be deleted, over exactly the one that was seen. */
export interface PodToReplace {
  readonly name: string;
  readonly uid: string;
}

/** The next write on the way to a step, and pods that go once it is there. */
export interface Move {
  readonly held: Held;
  readonly replace: readonly PodToReplace[];
}

/** What the next move is decided from. */
export interface Aim {
  readonly source: ViewSource;
  /** The share of the step, 1 to 100. */
  readonly weightPercent: number;
  /** The user's own settings, which bound how fast it goes. */
  readonly settings: WorkloadSettings;
  /** Which nodes come first, where that matters. Default: by name. */
  readonly ranks?: NodeRanks;
}

/** What a release would be brought to; fields are those of the object in Git. */
export interface Bringing {
  readonly settings: WorkloadSettings;
  readonly spec: Readonly<Record<string, unknown>>;
  /** Pods as they will be asked for; undefined leaves the number to whoever owns it. */
  readonly replicas: number | undefined;
  readonly live: KubernetesObject | undefined;
  /** No pod of it is there yet. */
  readonly isFirst: boolean;
  /** Its pod template is that of the older pods: what is new is beside it. */
  readonly isSameTemplate: boolean;
}

/** Why a workload cannot be held at a step. */
export interface Unfit {
  readonly field: string;
  readonly message: string;
  /** It is so in the cluster, and not in Git. */
  readonly isLive?: boolean;
}

/** Pods of the release that is tried. */
export interface Tried {
  /** As one side, counts of these pods alone; what they were granted is desired. */
  readonly view: PodsView;
  /** Pods of older templates that the step takes away. */
  readonly leaving: number;
  /** Older pods that are available. */
  readonly olderAvailable: number;
  /** The step of this share is there: exactly its pods, all of them ready, and nothing more is on its way. */
  isReached(weightPercent: number): boolean;
}

/** A workload as it is, as one, and the pods that are tried. */
export interface Sight {
  readonly whole: PodsView;
  /** Undefined before the first step. */
  readonly tried: Tried | undefined;
}

/** One kind. All functions are pure. */
export interface NativeKind {
  readonly kind: 'Deployment' | 'StatefulSet' | 'DaemonSet';
  /** The user's own settings as they are written: each with an explicit value, so that nothing of a step stays. */
  settingsFields(settings: WorkloadSettings): Record<string, unknown>;
  unfit(bringing: Bringing): Unfit | undefined;
  /** How it is written with a release of which there is to be no pod. */
  bring(bringing: Bringing): Held;
  /** The next move to a share; the same one while its pods are not ready. */
  next(aim: Aim): Move;
  sight(source: ViewSource): Sight;
  /** Pods that its controller would wait for and never replace, once another template is in place; none for most kinds. */
  stuck?(source: ViewSource): readonly PodToReplace[];
}
