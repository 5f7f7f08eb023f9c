/** The objects of the two sides of a Canary. */
import type { Canary } from '../api/canary/canary.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { workloadKind } from './kinds.ts';
import { primarySide } from './knative/annotations.ts';
import { configCopies, missingConfigs, plainConfig } from './shared/configs.ts';
import { canaryCopyName, primaryName } from './shared/names.ts';
import type { PrimarySource, WorkloadSource } from './shared/workload-kind.ts';

type Kind = { readonly apiVersion: string; readonly kind: string };

/** Both sides as they are. */
interface Sides {
  readonly target: KubernetesObject | undefined;
  readonly primary: KubernetesObject | undefined;
  /** What a release is read from where no Source holds it: the object that `targetRef` names. */
  readonly wanted: KubernetesObject | undefined;
}

/** Names of the objects of both sides. Throws RefusedError. */
export function sideNames(canary: Canary): { readonly canary: string; readonly primary: string } {
  const { name } = canary.spec.targetRef;
  switch (workloadKind(canary).sides) {
    case 'workloads':
      return { canary: name, primary: primaryName(canary) };
    case 'copies':
      return { canary: canaryCopyName(canary), primary: primaryName(canary) };
    case 'revisions':
      return { canary: name, primary: name };
  }
}

/** Reads both sides. Throws RefusedError. */
export function readSides(
  canary: Canary,
  get: (kind: Kind, name: string) => KubernetesObject | undefined,
): Sides {
  const kind = workloadKind(canary);
  const names = sideNames(canary);
  const target = get(kind, names.canary);
  if (kind.sides === 'revisions') return { target, primary: primarySide(target), wanted: target };
  const wanted = kind.sides === 'copies' ? get(kind, canary.spec.targetRef.name) : target;
  return { target, primary: get(kind, names.primary), wanted };
}

// Everything the rollout writes for one side of a Canary, in the order of writing: config first, then the workload (S16).

/** Objects for server-side apply; only the fields Holdfast owns. */
interface SideObjects {
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
 * `spec.replicas` of the primary: that of Git (at least 1, as in Flagger), or undefined when Git has none or an autoscaler owns
 * the number (S18).
 */
export function primaryReplicas({
  canary,
  settings,
}: Pick<WorkloadSource, 'canary' | 'settings'>): number | undefined {
  if (canary.spec.autoscalerRef || settings.replicas === undefined) return undefined;
  return Math.max(1, settings.replicas);
}
