/** One workload as the cluster reports it. Counts are pods. */
export interface WorkloadView extends DriftView {
  name: string;
  uid: string;
  resourceVersion: string;
  /** Annotation holdfast.dev/digest: what was applied last. */
  digest: string | undefined;
  settingsKey: string | undefined;
  /** status.observedGeneration has caught up. */
  observed: boolean;
  desiredReplicas: number;
  replicas: number;
  updatedReplicas: number;
  readyReplicas: number;
  availableReplicas: number;
  /** Ready pods that run the current template. */
  updatedReadyReplicas: number;
  /** One pod a node: the number of pods cannot be chosen (DaemonSet). */
  followsNodes: boolean;
  /** The workload controller says so (Progressing=False, ProgressDeadlineExceeded). */
  progressDeadlineExceeded: boolean;
  /**
   * A change of the template leaves a ready pod at every moment (RollingUpdate with room for it), and requests reach it: the Service's ports
   * go to the same numbers or names before and after.
   */
  keepsReadyPod: boolean;
  /** What keeps pods of the current template from being ready, worst first. */
  faults: readonly PodFault[];
  /** Most restarts of one container in pods of the current template. */
  restarts: number;
  /** Every pod of the current template runs the images of that template. */
  imagesMatch: boolean;
  /** Containers of the template, and what its pods run for them. */
  images: readonly ImageView[];
  /** Names of all containers in pods of the current template, also those that somebody else puts in; init containers included. */
  podContainers: readonly string[];
  /**
   * Ready pods of the current template that are ready addresses of every port which the workload's own Service names, as its EndpointSlices
   * say; undefined while there is no such Service, or it has no selector.
   */
  endpoints: number | undefined;
  /**
   * Numbers that the workload's own Service sends requests to and that neither a port nor a probe of the template names: no endpoint tells
   * whether anybody listens there. Absent where the template names no port at all.
   */
  undeclaredPorts?: readonly number[];
}

/** The image of one container: in the template, and in its pods. */
export interface ImageView {
  container: string;
  /** As the template names it. */
  image: string;
  /** As the pods name it, without doubles; empty while there is no pod. */
  found: readonly string[];
  /** What the name stands for on the nodes (imageID), without doubles. */
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
  /** Why the container ended last, where it ended before. */
  lastReason?: string;
}

/** The part of a workload's view that takes the bytes of its release. */
export interface DriftView {
  /** Fields we own were changed by somebody; those of the pod template, whose paths begin with `spec.template`, come first. */
  drift: ForeignChange | undefined;
  /**
   * Pods that the settings of the release ask for, of a primary whose number nobody else owns: no scaler, no other tool that applies the
   * target. Undefined also where Git does not say, and while newer settings are on their way.
   */
  wantedReplicas?: number | undefined;
  /** The primary's copies of ConfigMaps and Secrets that its release needs; empty for the target, and where the release cannot be read. */
  configCopies: readonly ConfigCopyView[];
}

/** What somebody else changed of an object that we write. */
export interface ForeignChange {
  /** The field manager's name; `unknown` where nobody owns the change. */
  manager: string;
  /** A few of the fields that differ. */
  fields: readonly FieldDifference[];
}

/** One field that is not as it was written. Texts are short, for people; nothing secret is in them. */
export interface FieldDifference {
  /** `spec.template.spec.containers[app].image`, `data[app.properties]:12` for a line of a long text. */
  path: string;
  expected: string;
  /** Undefined: the field is not there. */
  actual: string | undefined;
}

/** A promoted ConfigMap or Secret: the primary's own copy (flagger-behaviour 2.10). */
export interface ConfigCopyView {
  kind: 'ConfigMap' | 'Secret';
  name: string;
  /**
   * `otherRelease`: we wrote it, for another release than the primary's. `outdated`: its original outside Git, which it follows, is newer.
   * `foreign`: somebody else changed it.
   */
  state: 'asWritten' | 'missing' | 'otherRelease' | 'outdated' | 'foreign';
  /** What differs, where it was changed by somebody else. */
  drift: ForeignChange | undefined;
}

/** A fault in one line: Kubernetes' own reason, where, and what it says about it. */
export function describeFault({ reason, container, message }: PodFault): string {
  return `${reason}${container ? ` in container ${container}` : ''}: ${message}`;
}

/** A container that is being made: no fault, but what a slow start is recognised by. */
export function isStarting(reason: string): boolean {
  return reason === 'ContainerCreating' || reason === 'PodInitializing';
}

/** Reasons of containers that do not run at all. */
const NOT_RUNNING = new Set([
  'CrashLoopBackOff',
  'ImagePullBackOff',
  'ErrImagePull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
]);

/** A pod that ran and does not any more, or cannot: what counts as lost readiness. */
export function isReadinessLost({ reason }: PodFault): boolean {
  return NOT_RUNNING.has(reason) || reason === 'ProbeFailing';
}
