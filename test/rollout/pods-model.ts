import type { PodFault, WorkloadView } from '../../src/health/workload-view.ts';

/** Which copy; the canary is the target. */
export type Side = 'primary' | 'canary';

/** Pods of one workload in a model. */
export interface Pods {
  digest: string;
  settingsKey: string;
  desired: number;
  /** Ready pods of the current template, and of the one before. */
  ready: number;
  oldReady: number;
  version: number;
  /** What the pods of the template before run. */
  oldDigest?: string;
  /** Its controller has not seen the last change of the number of pods. */
  unseen?: boolean;
  /** So many of the ready ones the endpoint controller has not listed yet. */
  unlisted?: number;
}

/** Pods of one side that never become ready, whatever their release says of itself. */
export interface BrokenPods {
  count: number;
  /** Kubernetes' reason; undefined: nobody says why. */
  fault: string | undefined;
  /** Only those of this release; undefined: of every one. */
  of: string | undefined;
}

const MESSAGES: Readonly<Record<string, string>> = {
  ErrImagePull: 'rpc error: dial tcp 10.0.0.1:443: i/o timeout',
  ProbeFailing: 'not ready',
  FailedCreate: 'pods "new" is forbidden: exceeded quota: few',
  CreateContainerConfigError: 'secret "tokens" not found',
};

/** How many of these pods are broken. */
export function brokenOf(pods: Pods, broken: BrokenPods | undefined): number {
  if (!broken || (broken.of !== undefined && broken.of !== pods.digest)) return 0;
  return Math.min(broken.count, pods.desired);
}

/** One fault for each of them. */
export function faultsOf(name: string, pods: Pods, broken: BrokenPods | undefined): PodFault[] {
  const { fault: reason } = broken ?? {};
  if (reason === undefined || pods.unseen) return [];
  return Array.from({ length: brokenOf(pods, broken) }, (_, index) => ({
    ...{ pod: `${name}-${index}`, container: 'app', reason },
    message: MESSAGES[reason] ?? reason,
  }));
}

/** Pods of the current template become ready, as far as they can; old ones go as new ones come. */
export function rolled(
  pods: Pods,
  { healthy, most, broken }: { healthy: boolean; most: number; broken: BrokenPods | undefined },
): void {
  const bad = brokenOf(pods, broken);
  pods.ready = healthy ? Math.min(pods.desired - bad, most) : 0;
  if (healthy) pods.oldReady = Math.min(pods.oldReady, bad);
}

/** Another number of them is asked for. */
export function resized(pods: Pods, desired: number): void {
  pods.desired = desired;
  pods.ready = Math.min(pods.ready, desired);
  pods.oldReady = Math.min(pods.oldReady, desired);
}

/** The counts that a controller reports. */
export function countsOf(
  pods: Pods,
): Pick<
  WorkloadView,
  | 'observed'
  | 'desiredReplicas'
  | 'replicas'
  | 'updatedReplicas'
  | 'readyReplicas'
  | 'availableReplicas'
  | 'updatedReadyReplicas'
  | 'endpoints'
> {
  const { desired, ready, oldReady, unseen, unlisted = 0 } = pods;
  return {
    observed: !unseen,
    desiredReplicas: desired,
    replicas: desired + oldReady,
    updatedReplicas: desired,
    readyReplicas: ready + oldReady,
    availableReplicas: ready + oldReady,
    updatedReadyReplicas: unseen ? 0 : ready,
    endpoints: unseen ? 0 : Math.max(0, ready - unlisted),
  };
}
