/** What every kind of workload implements, and the error for what it cannot work with; rollouts are the same for all kinds. */
import type { Canary } from '../../api/canary/canary.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
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

/** What a view of a workload is made from. */
export interface ViewSource {
  workload: KubernetesObject;
  /** Pods of the namespace; those of other workloads are left out here. */
  pods: readonly KubernetesObject[];
  /** ReplicaSets of the namespace (metadata is enough): by them the pods of a Deployment's current template are found. */
  replicaSets: readonly KubernetesObject[];
  /** ControllerRevisions of the namespace, which do the same for DaemonSets. */
  controllerRevisions: readonly KubernetesObject[];
  /** Which side is viewed, where one object is both. */
  side?: 'canary' | 'primary';
  /** Revisions of the namespace, for Knative. */
  revisions?: readonly KubernetesObject[];
  /** The Service of this side of the Canary, if it exists. */
  service: KubernetesObject | undefined;
  /** EndpointSlices of the namespace: which pods get requests through that Service. */
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

/** Why a Canary cannot be acted on: the named field of a workload, config or Service has to change. */
interface Refusal {
  /** CamelCase, for conditions. */
  reason: 'TargetInvalid' | 'OwnedByAnother' | 'NameTaken';
  /** `Kind namespace/name`. */
  object: string;
  /** Path of the field that has to change, as `spec.selector.matchLabels`. */
  field: string;
  /** What is wrong and what can be done. */
  message: string;
}

/** Thrown by builders; the Canary stops with this reason until its author changes something. */
export class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(`${refusal.object}: ${refusal.field}: ${refusal.message}`);
    this.name = 'RefusedError';
    this.refusal = refusal;
  }
}

/** Throws RefusedError TargetInvalid: this field of the object must change before the Canary can go on. */
export function refuseTarget(object: KubernetesObject | Canary, field: string, message: string): never {
  throw new RefusedError({ reason: 'TargetInvalid', object: describe(object), field, message });
}

/**
 * Throws RefusedError when another object controls the live one, before anything generated is written over it. An earlier Canary of the
 * same name counts as the same one: its owner reference is replaced.
 */
export function refuseForeign(live: KubernetesObject | undefined, canary: Canary): void {
  const owner = live?.metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (!live || !owner || owner.uid === canary.metadata.uid) return;
  if (owner.kind === canary.kind && owner.name === canary.metadata.name) return;
  throw new RefusedError({
    reason: 'OwnedByAnother',
    object: describe(live),
    field: 'metadata.ownerReferences',
    message: `belongs to ${owner.kind} ${owner.name}, not to ${describe(canary)}; rename one of the two, or delete the object`,
  });
}
