/** One workload as the cluster reports it. Counts are pods. */
export interface WorkloadView extends DriftView {
  name: string;
  uid: string;
  resourceVersion: string;
  /** Annotation holdfast.dev/digest: the release that was applied last. */
  digest: string | undefined;
  settingsKey: string | undefined;
  /** status.observedGeneration is the current generation. */
  observed: boolean;
  desiredReplicas: number;
  replicas: number;
  updatedReplicas: number;
  readyReplicas: number;
  availableReplicas: number;
  /** Ready pods that run the current template. */
  updatedReadyReplicas: number;
  /** One pod per node: the number of pods cannot be set (DaemonSet). */
  followsNodes: boolean;
  /** Condition Progressing=False with reason ProgressDeadlineExceeded. */
  progressDeadlineExceeded: boolean;
  /**
   * A change of the template always leaves a ready pod (by its RollingUpdate strategy), and requests reach it: the Service's ports lead to
   * the same numbers or names before and after.
   */
  keepsReadyPod: boolean;
  /** What keeps pods of the current template from being ready, worst first. */
  faults: readonly PodFault[];
  /** Most restarts of one container in pods of the current template. */
  restarts: number;
  /** Every pod of the current template runs the images of that template. */
  imagesMatch: boolean;
  /** Images of the template's containers, and those that its pods run. */
  images: readonly ImageView[];
  /** Names of all containers in pods of the current template, injected and init containers included. */
  podContainers: readonly string[];
  /**
   * Ready pods of the current template that are ready endpoints of every port of the workload's own Service, by its EndpointSlices;
   * undefined if there is no such Service, or it has no selector.
   */
  endpoints: number | undefined;
  /** The first of those ports that some of these pods are no endpoint of, as `metrics (9090)`; absent if there is none. */
  unreachedPort?: string;
  /**
   * Port numbers that the workload's own Service sends requests to and that neither a port nor a probe of the template names: endpoints do not
   * show whether a container listens there. Absent if the template names no port at all.
   */
  undeclaredPorts?: readonly number[];
}

/** The image of one container: in the template, and in its pods. */
export interface ImageView {
  container: string;
  /** In the template. */
  image: string;
  /** In the pods, without duplicates; empty: there is no pod. */
  found: readonly string[];
  /** imageID of the pods' containers, without duplicates. */
  ids: readonly string[];
}

/** Why a pod is not ready. */
export interface PodFault {
  pod: string;
  container: string | undefined;
  /** Kubernetes' own reason: ImagePullBackOff, CrashLoopBackOff, Unschedulable, CreateContainerConfigError, FailedCreate, ProbeFailing... */
  reason: string;
  message: string;
  /** It is an init container. */
  init?: boolean;
  /** Why the container ended the last time, if it did. */
  lastReason?: string;
}

/** The part of a workload's view for which the bytes of its release are read. */
export interface DriftView {
  /** Changes by others of fields that we own; those of what was released (`isOfRelease`) come first. */
  drift: ForeignChange | undefined;
  /**
   * Replicas by the settings of the release, of a primary without a scaler and without another tool that applies the target. Undefined also
   * if Git has no replicas, and while newer settings are not applied yet.
   */
  wantedReplicas?: number | undefined;
  /** The primary's copies of ConfigMaps and Secrets that its release needs; empty for the target, and if the release cannot be read. */
  configCopies: readonly ConfigCopyView[];
}

/** A change by others of an object that we write. */
export interface ForeignChange {
  /** The field manager's name; `unknown`: no manager owns the field. */
  manager: string;
  /** A few of the fields that differ. */
  fields: readonly FieldDifference[];
}

/** One field that is not as it was written. Texts are short, for people, and contain nothing secret. */
export interface FieldDifference {
  /** `spec.template.spec.containers[app].image`, `data[app.properties]:12` for a line of a long text. */
  path: string;
  expected: string;
  /** Undefined: the field is missing. */
  actual: string | undefined;
}

/** A promoted ConfigMap or Secret: the primary's own copy (flagger-behaviour 2.10). */
export interface ConfigCopyView {
  kind: 'ConfigMap' | 'Secret';
  name: string;
  /**
   * `otherRelease`: we wrote it for another release than the primary's. `outdated`: its original outside Git, which it follows, is newer.
   * `foreign`: another manager changed it.
   */
  state: 'asWritten' | 'missing' | 'otherRelease' | 'outdated' | 'foreign';
  /** What another manager changed. */
  drift: ForeignChange | undefined;
}

/** A fault in one line: reason, container and message of Kubernetes. */
export function describeFault({ reason, container, message }: PodFault): string {
  return `${reason}${container ? ` in container ${container}` : ''}: ${message}`;
}

/** A container that is being created: no fault, but the sign of a slow start. */
export function isStarting(reason: string): boolean {
  return reason === 'ContainerCreating' || reason === 'PodInitializing';
}

/** Reasons of containers that do not run at all. */
const NOT_RUNNING = new Set([
  'CrashLoopBackOff',
  'ImagePullBackOff',
  'ErrImagePull',
  'ErrImageNeverPull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
]);

/** Whether a fault is lost readiness: the pod ran and does not any more, or cannot run. */
export function isReadinessLost({ reason }: PodFault): boolean {
  return NOT_RUNNING.has(reason) || reason === 'ProbeFailing';
}

/** Ready pods of any template, which can answer requests now. */
export function servingPods(view: WorkloadView | undefined): number {
  return view?.readyReplicas ?? 0;
}

/** Ready pods of the template under test. */
export function canaryPods(view: WorkloadView | undefined): number {
  return view?.observed ? view.updatedReadyReplicas : 0;
}

/** Those of them that requests reach, as endpoints of its Service: a share for others fails (ADR 32). */
export function reachableCanaryPods(view: WorkloadView | undefined): number {
  if (!view?.observed) return 0;
  return Math.min(view.updatedReadyReplicas, view.endpoints ?? Number.POSITIVE_INFINITY);
}

/**
 * The canary can answer. Until its controller has observed a change of its number of pods, mostly by a scaler, the pods that were ready count.
 */
export function canaryServes(view: WorkloadView | undefined): boolean {
  return view !== undefined && (view.observed ? view.updatedReadyReplicas : view.readyReplicas) > 0;
}

/** The number of pods the primary should have; undefined if Git gives none and it has some. */
export function wantedPods({
  wantedReplicas,
  desiredReplicas,
  followsNodes,
}: WorkloadView): number | undefined {
  if (followsNodes) return undefined;
  if (wantedReplicas !== undefined) return wantedReplicas;
  return desiredReplicas === 0 ? 1 : undefined;
}
