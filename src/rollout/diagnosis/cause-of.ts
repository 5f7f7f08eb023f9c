import type { PodFault } from '../world.ts';
import type { Cause } from './causes.ts';

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
