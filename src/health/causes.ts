/** Who ends a cause: nobody has to (it heals by itself), whoever runs the cluster, or the author of the release. */
export type EndedBy = 'itself' | 'cluster' | 'release';

/** What is known of one cause. Texts are for people and stand in the table of docs/guides/diagnosis.md. */
interface CauseRow {
  /** What is wrong with the pods, to stand behind a colon. */
  readonly title: string;
  /** How it is recognised, in Kubernetes' own words. */
  readonly recognised: string;
  readonly endedBy: EndedBy;
  /** What a person does about it. */
  readonly fix: string;
}

/** Why a workload does not take a release over: the closed table. */
export const causes = {
  Paused: {
    title: 'somebody paused the workload',
    recognised: '`spec.paused` of the Deployment',
    endedBy: 'cluster',
    fix: 'resume it: `kubectl rollout resume`',
  },
  SidecarFails: {
    title: 'a container that only this copy has does not run',
    recognised: 'any fault of a container that no pod of the other copy has',
    endedBy: 'cluster',
    fix: 'repair or restart what injects the container',
  },
  ImageMissing: {
    title: 'its image does not exist',
    recognised:
      '`ErrImagePull`, `ImagePullBackOff` with "not found"; `InvalidImageName`, `ErrImageNeverPull`',
    endedBy: 'release',
    fix: 'push the image, or correct its name in Git',
  },
  PullDenied: {
    title: 'its image may not be pulled',
    recognised: '`ErrImagePull`, `ImagePullBackOff` with "unauthorized", "denied" or "forbidden"',
    endedBy: 'cluster',
    fix: "give the pods' service account a pull secret that works",
  },
  PullFails: {
    title: 'its image cannot be pulled',
    recognised: '`ErrImagePull`, `ImagePullBackOff` with any other message: the registry or the network',
    endedBy: 'itself',
    fix: 'nothing, or look at the registry',
  },
  ConfigCopyMissing: {
    title: "the primary's copy of a ConfigMap or Secret is missing",
    recognised:
      'the copy is not there; `CreateContainerConfigError` that names a `-primary` object as not found',
    endedBy: 'itself',
    fix: 'nothing: it is written again; find out who deletes it',
  },
  ReferenceMissing: {
    title: 'a ConfigMap, Secret or key that it names is missing',
    recognised: '`CreateContainerConfigError`',
    endedBy: 'release',
    fix: 'add what is missing, or correct its name in Git',
  },
  QuotaExceeded: {
    title: 'a quota leaves no room for its pods',
    recognised: 'condition `ReplicaFailure` (`FailedCreate`) with "exceeded quota"',
    endedBy: 'cluster',
    fix: 'raise the ResourceQuota, or ask for less',
  },
  CreationRefused: {
    title: 'the API server refuses its pods',
    recognised:
      'condition `ReplicaFailure` (`FailedCreate`): admission, pod security, a missing service account',
    endedBy: 'cluster',
    fix: 'read the message: a policy refuses what the template asks for',
  },
  Unschedulable: {
    title: 'no node has room for its pods',
    recognised: '`PodScheduled=False` (`Unschedulable`)',
    endedBy: 'cluster',
    fix: 'add nodes, or ask for less; a node autoscaler does it by itself',
  },
  GateClosed: {
    title: 'a gate of its pods is closed',
    recognised: '`SchedulingGated`, `ReadinessGatesNotReady`',
    endedBy: 'cluster',
    fix: 'look at the controller that opens the gate',
  },
  NodeLost: {
    title: 'its pods were lost with their node, or evicted',
    recognised: '`Evicted`, `NodeLost`, `NodeShutdown`, `Terminated`, `Preempting`, `DisruptionTarget`',
    endedBy: 'itself',
    fix: 'nothing: the pods are made anew elsewhere',
  },
  InitFails: {
    title: 'an init container fails',
    recognised: 'an exit code, or `CrashLoopBackOff`, of an init container',
    endedBy: 'release',
    fix: "read the container's log",
  },
  OutOfMemory: {
    title: 'a container needs more memory than it may have',
    recognised: '`OOMKilled`, now or as the last exit of a crash loop',
    endedBy: 'release',
    fix: 'raise the memory limit, or find the leak',
  },
  CrashLoop: {
    title: 'a container ends again and again',
    recognised: '`CrashLoopBackOff`, `RunContainerError`, `CreateContainerError`, an exit code',
    endedBy: 'release',
    fix: "read the container's log, also with `--previous`",
  },
  ProbeFails: {
    title: 'a probe does not pass',
    recognised: 'running, but not ready: the readiness or startup probe fails',
    endedBy: 'release',
    fix: 'ask the probe yourself, and read the log',
  },
  NoPodSelected: {
    title: 'it selects no pod that is ready',
    recognised:
      '`NoPodSelected`: a target of kind Service, and no ready pod with the labels of its `spec.selector`',
    endedBy: 'release',
    fix: "compare `spec.selector` with the labels of the pods, and look at the pods' own workload",
  },
  SlowStart: {
    title: 'its pods are still being made',
    recognised: '`ContainerCreating`, `PodInitializing`: an image is pulled or a volume mounted',
    endedBy: 'itself',
    fix: 'nothing; for long ones the events of the pod tell which volume is missing',
  },
  ProgressStopped: {
    title: 'it makes no progress, and no pod says why',
    recognised: 'none of the above within `progressDeadlineSeconds`',
    endedBy: 'cluster',
    fix: 'look at the events of its ReplicaSet and pods',
  },
} as const satisfies Readonly<Record<string, CauseRow>>;

/** Name of a cause. */
export type Cause = keyof typeof causes;
