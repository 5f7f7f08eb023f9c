import { type Cause, causes } from './causes.ts';
import { isBroken } from './drift.ts';
import { whyNotReady } from './readiness.ts';
import { describeFault, type PodFault, type WorkloadView } from './workload-view.ts';

const pulling: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ImageInspectError',
  'RegistryUnavailable',
]);

const byReason: Readonly<Record<string, Cause>> = {
  DeploymentPaused: 'Paused',
  ContainerMissing: 'ImageMissing',
  InvalidImageName: 'ImageMissing',
  ErrImageNeverPull: 'ImageMissing',
  Unschedulable: 'Unschedulable',
  SchedulingGated: 'GateClosed',
  ReadinessGatesNotReady: 'GateClosed',
  Evicted: 'NodeLost',
  NodeLost: 'NodeLost',
  NodeNotReady: 'NodeLost',
  NodeShutdown: 'NodeLost',
  Terminated: 'NodeLost',
  Preempting: 'NodeLost',
  PreemptionByScheduler: 'NodeLost',
  DeletionByTaintManager: 'NodeLost',
  DeletionByPodGC: 'NodeLost',
  EvictionByEvictionAPI: 'NodeLost',
  TerminationByKubelet: 'NodeLost',
  OOMKilled: 'OutOfMemory',
  ProbeFailing: 'ProbeFails',
  NotReadyYet: 'ProbeFails',
  NoPodSelected: 'NoPodSelected',
  ContainerCreating: 'SlowStart',
  PodInitializing: 'SlowStart',
};

/**
 * The cause of one fault. `otherContainers`: the container names in pods of the other copy, to recognise an injected container that only
 * this copy has; empty: unknown.
 */
export function causeOf(fault: PodFault, otherContainers: readonly string[]): Cause {
  const { container, reason, message } = fault;
  const isOnlyHere =
    container !== undefined && otherContainers.length > 0 && !otherContainers.includes(container);
  if (isOnlyHere) return 'SidecarFails';
  if (pulling.has(reason)) return pullCause(message);
  if (reason === 'CreateContainerConfigError')
    return /"[^"]*-primary" not found/.test(message) ? 'ConfigCopyMissing' : 'ReferenceMissing';
  if (reason === 'FailedCreate') return /exceeded quota/i.test(message) ? 'QuotaExceeded' : 'CreationRefused';
  const known = Object.hasOwn(byReason, reason) ? byReason[reason] : undefined;
  if (known) return known;
  if (fault.lastReason === 'OOMKilled') return 'OutOfMemory';
  // The rest are containers that ended or cannot run; reasons that a newer kubelet may add count as that, too.
  return fault.init === true ? 'InitFails' : 'CrashLoop';
}

function pullCause(message: string): Cause {
  if (/not found|manifest unknown|name unknown|no such (image|manifest)/i.test(message))
    return 'ImageMissing';
  return /unauthori[sz]ed|denied|forbidden|authentication required/i.test(message)
    ? 'PullDenied'
    : 'PullFails';
}

/** Why a primary does not become ready with a release, compared with the canary. */
export interface Diagnosis {
  readonly cause: Cause;
  /** A few lines about faults, worst first. */
  readonly evidence: readonly string[];
  /** The canary with the same release has the same cause: the release is to blame, and not this copy. */
  readonly onCanaryToo: boolean;
}

const mostEvidence = 6;

/** Diagnoses a primary by its worst fault. Pure; the same views give the same answer. */
export function diagnose(primary: WorkloadView | undefined, target: WorkloadView | undefined): Diagnosis {
  const sameRelease = target !== undefined && target.digest === primary?.digest;
  const containers = sameRelease ? target.podContainers : [];
  const [worst] = primary?.faults ?? [];
  const unseen = primary?.configCopies.some(isBroken) ? 'ConfigCopyMissing' : 'ProgressStopped';
  const cause = worst ? causeOf(worst, containers) : unseen;
  const canaryFault = sameRelease && worst ? matchingFault(worst, cause, target) : undefined;
  return {
    cause,
    evidence: evidenceOf(primary, canaryFault, whyNotReady(primary)),
    onCanaryToo: canaryFault !== undefined,
  };
}

/** One line: the cause, and the worst fault. */
export function sentence({ cause }: Diagnosis, primary: WorkloadView | undefined): string {
  return `${causes[cause].title}: ${whyNotReady(primary)}`;
}

/** A pod that is starting may have these reasons too; on a canary that passed its analysis they are no fault. */
const starting: ReadonlySet<string> = new Set(['NotReadyYet', 'ContainerCreating', 'PodInitializing']);

function matchingFault(worst: PodFault, cause: Cause, target: WorkloadView): PodFault | undefined {
  return target.faults.find(
    (fault) =>
      !starting.has(fault.reason) && fault.container === worst.container && causeOf(fault, []) === cause,
  );
}

function evidenceOf(
  primary: WorkloadView | undefined,
  canaryFault: PodFault | undefined,
  otherwise: string,
): string[] {
  const faults = (primary?.faults ?? []).map((fault) => `${fault.pod}: ${describeFault(fault)}`);
  const deadline = primary?.progressDeadlineExceeded
    ? ['its controller gave up: ProgressDeadlineExceeded']
    : [];
  const canary = canaryFault ? [`canary ${canaryFault.pod}: ${describeFault(canaryFault)}`] : [];
  const found = [...faults, ...deadline];
  const evidence = found.length > 0 ? found : [otherwise];
  return [...new Set(evidence)].slice(0, mostEvidence - canary.length).concat(canary);
}
