/** What ends a cause: nothing needs to be done, or the operator of the cluster, or the author of the release has to act. */
export type EndedBy = 'itself' | 'cluster' | 'release';

/** One cause. Texts are part of the table in docs/guides/diagnosis.md. */
interface CauseRow {
  /** What is wrong with the pods, for use after a colon. */
  readonly title: string;
  /** How it is recognised, in the terms of Kubernetes. */
  readonly recognised: string;
  readonly endedBy: EndedBy;
  /** What a person does about it. */
  readonly fix: string;
}

/** Why a workload does not become ready with a release: the closed table. */
export const causes = {
  Paused: {
    title: 'the workload is paused',
    recognised: '`spec.paused` of the Deployment',
    endedBy: 'cluster',
    fix: 'resume it: `kubectl rollout resume`',
  },
  SidecarFails: {
    title: 'an injected container does not run',
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
    title: 'pulling its image is not allowed',
    recognised: '`ErrImagePull`, `ImagePullBackOff` with "unauthorized", "denied" or "forbidden"',
    endedBy: 'cluster',
    fix: "give the pods' service account a pull secret that works",
  },
  PullFails: {
    title: 'its image cannot be pulled',
    recognised: '`ErrImagePull`, `ImagePullBackOff` with any other message: the registry or the network',
    endedBy: 'itself',
    fix: 'wait; check the registry if it lasts',
  },
  ConfigCopyMissing: {
    title: "the primary's copy of a ConfigMap or Secret is missing",
    recognised:
      'the copy is not there; `CreateContainerConfigError` that names a `-primary` object as not found',
    endedBy: 'itself',
    fix: 'nothing to do: it is restored; find out who deletes it',
  },
  ReferenceMissing: {
    title: 'a ConfigMap, Secret or key that it names is missing',
    recognised: '`CreateContainerConfigError`',
    endedBy: 'release',
    fix: 'add what is missing, or correct its name in Git',
  },
  QuotaExceeded: {
    title: 'its pods exceed a quota',
    recognised: 'condition `ReplicaFailure` (`FailedCreate`) with "exceeded quota"',
    endedBy: 'cluster',
    fix: 'raise the ResourceQuota, or lower the requests',
  },
  CreationRefused: {
    title: 'the API server refuses its pods',
    recognised:
      'condition `ReplicaFailure` (`FailedCreate`): a policy, pod security, a missing service account, a webhook that does not answer',
    endedBy: 'cluster',
    fix: 'read the message: a policy refuses what the template asks for, or its webhook does not answer',
  },
  Unschedulable: {
    title: 'no node has room for its pods',
    recognised: '`PodScheduled=False` (`Unschedulable`); a DaemonSet that no node matches',
    endedBy: 'cluster',
    fix: 'add nodes, or lower the requests; a cluster autoscaler adds nodes by itself',
  },
  GateClosed: {
    title: 'a scheduling or readiness gate of its pods is closed',
    recognised: '`SchedulingGated`, `ReadinessGatesNotReady`',
    endedBy: 'cluster',
    fix: 'check the controller that opens the gate',
  },
  NodeLost: {
    title: 'its pods were lost with their node, or evicted',
    recognised: '`Evicted`, `NodeLost`, `NodeShutdown`, `Terminated`, `Preempting`, `DisruptionTarget`',
    endedBy: 'itself',
    fix: 'nothing to do: the pods are recreated on other nodes',
  },
  InitFails: {
    title: 'an init container fails',
    recognised: 'an exit code, or `CrashLoopBackOff`, of an init container',
    endedBy: 'release',
    fix: "read the container's log",
  },
  OutOfMemory: {
    title: 'a container exceeds its memory limit',
    recognised: '`OOMKilled`, now or as the last exit of a crash loop',
    endedBy: 'release',
    fix: 'raise the memory limit, or find the leak',
  },
  CrashLoop: {
    title: 'a container keeps crashing',
    recognised: '`CrashLoopBackOff`, `RunContainerError`, `CreateContainerError`, an exit code',
    endedBy: 'release',
    fix: "read the container's log, also with `--previous`",
  },
  ProbeFails: {
    title: 'a probe fails',
    recognised: 'running, but not ready: the readiness or startup probe fails',
    endedBy: 'release',
    fix: 'call the probe yourself, and read the log',
  },
  NoPodSelected: {
    title: 'it selects no pod that is ready',
    recognised:
      '`NoPodSelected`: a target of kind Service, and no ready pod with the labels of its `spec.selector`',
    endedBy: 'release',
    fix: "compare `spec.selector` with the labels of the pods, and look at the pods' own workload",
  },
  SlowStart: {
    title: 'its pods are still starting',
    recognised:
      '`ContainerCreating`, `PodInitializing`: an image is pulled, a volume mounted, or an init container runs',
    endedBy: 'itself',
    fix: 'wait; if it lasts, the events of the pod name the missing volume, and the log of the init container what it waits for',
  },
  ProgressStopped: {
    title: 'it makes no progress, and no pod shows a fault',
    recognised: 'none of the above within `progressDeadlineSeconds`',
    endedBy: 'cluster',
    fix: 'look at the events of its ReplicaSet and pods',
  },
} as const satisfies Readonly<Record<string, CauseRow>>;

/** Name of a cause. */
export type Cause = keyof typeof causes;
