/** What a kind of workload has to offer to be rolled out in place (ADR 21, 27). */
import type { NodeOrder } from '../../api/canary/analysis.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { DriftView, WorkloadView } from '../../health/workload-view.ts';
import type { WorkloadSettings } from '../../release/release.ts';
import type { ViewSource } from './workload-kind.ts';

/** A view of pods, without what is compared with Git. */
export type PodsView = Omit<WorkloadView, keyof DriftView>;

/** How a workload is held where it is: fields of its spec over the user's own, and marks beside those every kind has. */
export interface HeldFields {
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
export interface StepMove {
  readonly held: HeldFields;
  readonly replace: readonly PodToReplace[];
}

/** What the next move is decided from. */
export interface StepGoal {
  readonly source: ViewSource;
  /** The share of the step, 1 to 100. */
  readonly weightPercent: number;
  /** The user's own settings, which bound how fast it goes. */
  readonly settings: WorkloadSettings;
  /** Which nodes come first, where that matters. Default: by name. */
  readonly ranks?: NodeRanks;
}

/** A release before it is written; fields are those of the object in Git. */
export interface IncomingRelease {
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
export interface Unsuitable {
  readonly field: string;
  readonly message: string;
  /** It is so in the cluster, and not in Git. */
  readonly isLive?: boolean;
}

/** Pods of the release that is tried. */
export interface TriedPods {
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
interface SplitView {
  readonly whole: PodsView;
  /** Undefined before the first step. */
  readonly tried: TriedPods | undefined;
}

/** One kind. All functions are pure. */
export interface NativeKind {
  readonly kind: 'Deployment' | 'StatefulSet' | 'DaemonSet';
  /** The user's own settings as they are written: each with an explicit value, so that nothing of a step stays. */
  settingsFields(settings: WorkloadSettings): Record<string, unknown>;
  /** Why this release cannot be rolled out in place; undefined when it can. */
  unsuitable(incoming: IncomingRelease): Unsuitable | undefined;
  /** How it is written so that a release is in place and none of its pods is started yet. */
  withhold(incoming: IncomingRelease): HeldFields;
  /** The next move to a share; the same one while its pods are not ready. */
  next(aim: StepGoal): StepMove;
  splitView(source: ViewSource): SplitView;
  /** Pods that its controller would wait for and never replace, once another template is in place; none for most kinds. */
  stuck?(source: ViewSource): readonly PodToReplace[];
}

/** Ranks of nodes by name, lowest first: by the values that are named, then by the value of their label. A node without it has none. */
export type NodeRanks = ReadonlyMap<string, number>;

/** The ranks that an order gives to these nodes. */
export function rankNodes({ label, values = [] }: NodeOrder, nodes: readonly KubernetesObject[]): NodeRanks {
  const valueIn = ({ metadata }: KubernetesObject) => metadata.labels?.[label];
  const others = new Set(
    nodes.map(valueIn).filter((value) => value !== undefined && !values.includes(value)),
  );
  const order = [...values, ...[...others].sort()];
  return new Map(
    nodes.flatMap((node) => {
      const value = valueIn(node);
      return value === undefined ? [] : [[node.metadata.name, order.indexOf(value)] as const];
    }),
  );
}

/** A share of one pod is all of it. `replicas`: as asked for; Kubernetes takes 1 where nobody says it. */
export function tooFewReplicas(replicas = 1): Unsuitable | undefined {
  if (replicas >= 2) return undefined;
  return {
    field: 'spec.replicas',
    message: `must be at least 2 for provider native, not ${replicas}, since one pod cannot be split; change it or choose another provider`,
  };
}

/** Of a StatefulSet or DaemonSet whose controller replaces no pod by itself. */
export function replacedByHand({ strategy }: WorkloadSettings): Unsuitable | undefined {
  const type = strategy?.type;
  if (type === undefined || type === 'RollingUpdate') return undefined;
  return {
    field: 'spec.updateStrategy.type',
    message: `must be RollingUpdate for provider native, not ${String(type)}: pods would not be replaced automatically, neither for a release nor for a rollback`,
  };
}
