/** What every kind of workload implements; rollouts are the same for all kinds. */

import type { NodeOrder } from '../../api/canary/analysis.ts';
import type { Canary } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { DriftView, WorkloadView } from '../../health/workload-view.ts';
import type { Release, WorkloadSettings } from '../../release/release.ts';

/** What both workloads are built from. */
export interface WorkloadSource {
  canary: Canary;
  release: Release;
  settings: WorkloadSettings;
  /** Hash of the settings, written as annotation holdfast.dev/settings. */
  settingsKey: string;
  /** Wanted pods; undefined leaves the field to its owner, an autoscaler. */
  replicas: number | undefined;
  /** Label keys that may distinguish the two workloads, in order of preference. */
  selectorLabels: readonly string[];
  /** The live workload, to refuse one that belongs to another controller. */
  live?: KubernetesObject | undefined;
}

/** What the primary's copies of ConfigMaps and Secrets are made of. */
export interface ConfigSources {
  canary: Canary;
  release: Release;
  /** Live objects for `release.liveConfigs`, as far as they exist. */
  liveConfigs: readonly KubernetesObject[];
  /** Keys `Kind/name` of configs that another Canary tracks too; their copies carry the target's name. */
  sharedConfigs: ReadonlySet<string>;
  /** Keys of `release.liveConfigs` that do not exist and are known not to be tracked; without it they count as tracked. */
  untracked?: ReadonlySet<string>;
  /** Label prefixes that copies take over. */
  includeLabelPrefixes: readonly string[];
}

/** What the primary is built from. */
export interface PrimarySource extends WorkloadSource, ConfigSources {
  live: KubernetesObject | undefined;
}

/** The kind of revisions, which Knative makes. */
export const revisionKind = { apiVersion: 'serving.knative.dev/v1', kind: 'Revision' };

/** What a view of a workload is made from. */
export interface ViewSource {
  workload: KubernetesObject;
  /** At least those that the workload or its ReplicaSets control; of a Service all of the namespace. Those of other workloads are left out here. */
  pods: readonly KubernetesObject[];
  /** At least its own ReplicaSets (metadata is enough): by them the pods of a Deployment's current template are found. */
  replicaSets: readonly KubernetesObject[];
  /** At least its own ControllerRevisions, which do the same for DaemonSets. */
  controllerRevisions: readonly KubernetesObject[];
  /** Which side is viewed, where one object is both. */
  side?: 'canary' | 'primary';
  /** Revisions of the namespace, for Knative. */
  revisions?: readonly KubernetesObject[];
  /** The Service of this side of the Canary, if it exists. */
  service: KubernetesObject | undefined;
  /** At least the EndpointSlices of that Service, or of the workload that is one: which pods get requests through it. */
  endpointSlices?: readonly KubernetesObject[];
  /** The port by which requests come to a target that is a Service itself. */
  routePort?: number | undefined;
}

/** A view of a workload without its drift, for which more than the workload is needed (see drift.ts). */
export type PodsView = Omit<WorkloadView, keyof DriftView>;

/** One kind of target. All functions are pure. */
export interface WorkloadKind {
  apiVersion: string;
  kind: string;
  /** Further kinds that its view is made from, besides pods and ReplicaSets. */
  watches: ReadonlyArray<{ readonly apiVersion: string; readonly kind: string }>;
  /**
   * What the two sides are. `workloads`: the target is the canary's, the primary is a second one. `copies`: both are copies of the target, which
   * is only read. `revisions`: both are revisions of the target. Only workloads need Services that are generated.
   */
  sides: 'workloads' | 'copies' | 'revisions';
  /** The canary's side as the rollout writes it. Throws RefusedError. */
  canary(source: WorkloadSource): KubernetesObject;
  /** The primary. Throws RefusedError. */
  primary(source: PrimarySource): KubernetesObject;
  /** Merge patch that sets the settings and their annotation and leaves the template alone. */
  settingsPatch(
    source: Pick<WorkloadSource, 'settings' | 'settingsKey' | 'replicas'>,
  ): Record<string, unknown>;
  /** Merge patch that sets the number of pods; undefined when the workload has it already. */
  scalePatch(workload: KubernetesObject, replicas: number): Record<string, unknown> | undefined;
  view(source: ViewSource): PodsView;
}

/** `scalePatch` of a kind whose spec has the number. */
export function replicasPatch(
  { spec }: KubernetesObject,
  replicas: number,
): Record<string, unknown> | undefined {
  return (spec as { replicas?: number } | undefined)?.replicas === replicas
    ? undefined
    : { spec: { replicas } };
}

// What a kind of workload implements to be rolled out in place (ADR 21, 27).

/** Names of pods by their template. The patterns are RE2 and match whole names; `-` matches none. */
export interface RevisionPods {
  readonly pods: string;
  readonly otherPods: string;
  /** The label of pods of the newest template; undefined while there cannot be any. */
  readonly label: { readonly key: string; readonly value: string } | undefined;
}

/** How a workload is held at a step: fields of its spec that replace the user's own, and annotations in addition to those of every kind. */
export interface HeldFields {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The template it has meanwhile. Default: that of the release that is tried. */
  readonly template?: 'promoted';
}

/** A pod to be deleted: only the one that was observed, by its uid. */
export interface PodToReplace {
  readonly name: string;
  readonly uid: string;
}

/** The next write on the way to a step, and pods to delete once it is read back. */
export interface StepMove {
  readonly held: HeldFields;
  readonly replace: readonly PodToReplace[];
}

/** What the next move is decided from. */
export interface StepGoal {
  readonly source: ViewSource;
  /** The share of the step, 1 to 100. */
  readonly weightPercent: number;
  /** The user's own settings, which limit how many pods change at once. */
  readonly settings: WorkloadSettings;
  /** Which nodes come first, where that matters. Default: by name. */
  readonly ranks?: NodeRanks;
}

/** A release before it is written; fields are those of the object in Git. */
export interface IncomingRelease {
  readonly settings: WorkloadSettings;
  readonly spec: Readonly<Record<string, unknown>>;
  /** `spec.replicas` as it will be written; undefined leaves it to its owner, an autoscaler. */
  readonly replicas: number | undefined;
  readonly live: KubernetesObject | undefined;
  /** No pod of it is there yet. */
  readonly isFirst: boolean;
  /** Its pod template is that of the older pods: only other fields change. */
  readonly isSameTemplate: boolean;
}

/** Why a workload cannot be held at a step. */
export interface Unsuitable {
  readonly field: string;
  readonly message: string;
  /** The field is that of the live object, not of the one in Git. */
  readonly isLive?: boolean;
}

/** Pods of the release that is tried. */
export interface TriedPods {
  /** As one side: counts of these pods alone; the pods that the step allows are the desired ones. */
  readonly view: PodsView;
  /** Pods of older templates that the step takes away. */
  readonly leaving: number;
  /** Older pods that are available. */
  readonly olderAvailable: number;
  /** The step of this share is reached: exactly its pods exist, all of them are ready, and no others are being created. */
  isReached(weightPercent: number): boolean;
}

/** The whole workload, and the pods that are tried. */
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
  next(goal: StepGoal): StepMove;
  splitView(source: ViewSource): SplitView;
  /** The hash of the newest template that its pods carry as a label; undefined while its controller has not reported it. */
  revision(source: ViewSource): string | undefined;
  /** Pods that its controller would wait for and never replace, after the template has changed; none for most kinds. */
  stuck?(source: ViewSource): readonly PodToReplace[];
}

/** Ranks of nodes by name, lowest first: by the values that are named, then by the value of their label. A node without it has none. */
export type NodeRanks = ReadonlyMap<string, number>;

/** The pod as it is to be deleted. */
export function podToReplace({ metadata: { name, uid = '' } }: KubernetesObject): PodToReplace {
  return { name, uid };
}

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

/** One pod cannot be split. `replicas`: as in the spec; Kubernetes' default is 1. */
export function tooFewReplicas(replicas = 1): Unsuitable | undefined {
  if (replicas >= 2) return undefined;
  return {
    field: 'spec.replicas',
    message: `must be at least 2 for provider native, not ${replicas}, since one pod cannot be split; change it or choose another provider`,
  };
}

/** For a StatefulSet or DaemonSet whose controller replaces no pod by itself. */
export function replacedByHand({ strategy }: WorkloadSettings): Unsuitable | undefined {
  const type = strategy?.type;
  if (type === undefined || type === 'RollingUpdate') return undefined;
  return {
    field: 'spec.updateStrategy.type',
    message: `must be RollingUpdate for provider native, not ${String(type)}: pods would not be replaced automatically, neither for a release nor for a rollback`,
  };
}
