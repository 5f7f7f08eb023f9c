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
 * The cause behind one fault. `otherContainers` are the container names in pods of the other copy, to know one that only this copy has;
 * without any, nothing can be said about that.
 */
export function causeOf(fault: PodFault, otherContainers: readonly string[]): Cause {
  const { container, reason, message } = fault;
  const isOnlyHere =
    container !== undefined && otherContainers.length > 0 && !otherContainers.includes(container);
  if (isOnlyHere) return 'SidecarFails';
  if (pulling.has(reason)) return pullCause(message);
  if (reason === 'CreateContainerConfigError') return configCause(message);
  if (reason === 'FailedCreate') return /exceeded quota/i.test(message) ? 'QuotaExceeded' : 'CreationRefused';
  const known = Object.hasOwn(byReason, reason) ? byReason[reason] : undefined;
  if (known) return known;
  if (fault.lastReason === 'OOMKilled') return 'OutOfMemory';
  // What is left is a container that ended or cannot be run; new words of a kubelet are taken for that, too.
  return fault.init === true ? 'InitFails' : 'CrashLoop';
}

function pullCause(message: string): Cause {
  if (/not found|manifest unknown|name unknown|no such (image|manifest)/i.test(message))
    return 'ImageMissing';
  return /unauthori[sz]ed|denied|forbidden|authentication required/i.test(message)
    ? 'PullDenied'
    : 'PullFails';
}

function configCause(message: string): Cause {
  return /"[^"]*-primary" not found/.test(message) ? 'ConfigCopyMissing' : 'ReferenceMissing';
}

/** Why a primary does not take a release over, compared with the canary. */
export interface Diagnosis {
  readonly cause: Cause;
  /** What was seen, worst first; at most a handful of lines. */
  readonly evidence: readonly string[];
  /** The canary, with the same release, shows the same cause: then the release is to blame, and not this copy. */
  readonly onCanaryToo: boolean;
}

const mostEvidence = 6;

/** Diagnoses a primary by its worst fault. Pure; the same views give the same answer. */
export function diagnose(primary: WorkloadView | undefined, target: WorkloadView | undefined): Diagnosis {
  const sameRelease = target !== undefined && target.digest === primary?.digest;
  const containers = sameRelease ? target.podContainers : [];
  const [worst] = primary?.faults ?? [];
  const cause = worst ? causeOf(worst, containers) : withoutFault(primary);
  const canaryFault = sameRelease && worst ? matchingFault(worst, cause, target) : undefined;
  return {
    cause,
    evidence: evidenceOf(primary, canaryFault),
    onCanaryToo: canaryFault !== undefined,
  };
}

function withoutFault(primary: WorkloadView | undefined): Cause {
  return primary?.configCopies.some(isBroken) ? 'ConfigCopyMissing' : 'ProgressStopped';
}

/** One line: what is wrong, and the worst that was seen of it. */
export function sentence({ cause }: Diagnosis, primary: WorkloadView | undefined): string {
  return `${causes[cause].title}: ${whyNotReady(primary)}`;
}

/** A pod that only starts is in the state of one that fails; on a canary that has passed its analysis it says nothing. */
const starting: ReadonlySet<string> = new Set(['NotReadyYet', 'ContainerCreating', 'PodInitializing']);

function matchingFault(worst: PodFault, cause: Cause, target: WorkloadView): PodFault | undefined {
  return target.faults.find(
    (fault) =>
      !starting.has(fault.reason) && fault.container === worst.container && causeOf(fault, []) === cause,
  );
}

function evidenceOf(primary: WorkloadView | undefined, canaryFault: PodFault | undefined): string[] {
  const faults = (primary?.faults ?? []).map((fault) => `${fault.pod}: ${describeFault(fault)}`);
  const deadline = primary?.progressDeadlineExceeded
    ? ['its controller gave up: ProgressDeadlineExceeded']
    : [];
  const canary = canaryFault ? [`canary ${canaryFault.pod}: ${describeFault(canaryFault)}`] : [];
  const seen = [...faults, ...deadline];
  if (seen.length === 0) seen.push(whyNotReady(primary));
  return [...new Set(seen)].slice(0, mostEvidence - canary.length).concat(canary);
}
