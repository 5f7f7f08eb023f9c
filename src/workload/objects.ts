/** Everything the rollout writes for one side of a Canary, in the order of writing: config first, then the workload (S16). */
import type { KubernetesObject } from '../api/kubernetes.ts';
import { configCopies, missingConfigs, plainConfig } from './configs.ts';
import type { PrimarySource, WorkloadSource } from './kind.ts';
import { workloadKind } from './kinds.ts';

/** Objects for server-side apply; only the fields Holdfast owns. */
export interface SideObjects {
  configs: KubernetesObject[];
  workload: KubernetesObject;
}

/** The canary side: tracked config from Git under its own names, then the target. Throws RefusedError. */
export function canaryObjects(source: WorkloadSource): SideObjects {
  return {
    configs: source.release.configs.map(plainConfig),
    workload: workloadKind(source.canary).canary(source),
  };
}

/**
 * The primary side: config copies, then the primary. `missing` names configs that are in neither Git nor the cluster: a reason not to
 * start a release, but none to stop a revert, whose earlier copies are still there. Throws RefusedError.
 */
export function primaryObjects(
  source: PrimarySource,
): SideObjects & { missing: ReturnType<typeof missingConfigs> } {
  return {
    configs: configCopies(source),
    workload: workloadKind(source.canary).primary(source),
    missing: missingConfigs(source),
  };
}

/**
 * Pods the primary is written with: what Git says (at least 1, as Flagger does), or undefined when Git says nothing or an autoscaler owns
 * the number (S18).
 */
export function primaryReplicas({
  canary,
  settings,
}: Pick<WorkloadSource, 'canary' | 'settings'>): number | undefined {
  if (canary.spec.autoscalerRef || settings.replicas === undefined) return undefined;
  return Math.max(1, settings.replicas);
}
