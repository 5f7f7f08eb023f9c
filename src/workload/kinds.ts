import { type Canary, targetApiVersion } from '../api/canary/canary.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { daemonSet, nativeDaemonSet } from './daemonset/daemonset.ts';
import { deployment, nativeDeployment } from './deployment/deployment.ts';
import { knative, primaryRevisionOf, primarySide } from './knative/knative.ts';
import { service } from './service/service.ts';
import { configCopies, missingConfigs, plainConfig, unwantedCopies } from './shared/configs.ts';
import { canaryCopyName, primaryName } from './shared/metadata.ts';
import { refuseTarget } from './shared/refusal.ts';
import {
  type NativeKind,
  type PrimarySource,
  revisionKind,
  type WorkloadKind,
  type WorkloadSource,
} from './shared/workload-kind.ts';
import { nativeStatefulSet, statefulSet } from './statefulset/statefulset.ts';

/** The table of target kinds: a further kind is one more file and one more line here. */

const kinds: readonly WorkloadKind[] = [deployment, daemonSet, statefulSet, service, knative];

/** Every kind that targets, and so primaries, can have. */
export const targetKinds: ReadonlyArray<{ apiVersion: string; kind: string }> = kinds.map(
  ({ apiVersion, kind }) => ({ apiVersion, kind }),
);

/** What names a kind; from an object that need not be valid. */
interface KindReference {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
}

function kindOf(reference: KindReference): WorkloadKind | undefined {
  const apiVersion = targetApiVersion(reference);
  return kinds.find((one) => one.kind === reference.kind && one.apiVersion === apiVersion);
}

/** Kinds to watch for a target of this kind: itself, and what its view is made from. None for a kind that is not supported. */
export function watchedKinds(reference: KindReference): ReadonlyArray<{ apiVersion: string; kind: string }> {
  const found = kindOf(reference);
  return found ? [{ apiVersion: found.apiVersion, kind: found.kind }, ...found.watches] : [];
}

/** The kind of a Canary's target. Throws RefusedError for one that is not supported. */
export function workloadKind(canary: Canary): WorkloadKind {
  const { targetRef } = (canary.spec ?? {}) as Partial<Canary['spec']>;
  // The CRD lets one in that has no spec.
  if (!targetRef) return refuseTarget(canary, 'spec.targetRef', 'is missing');
  const { kind, name } = targetRef;
  const found = kindOf(targetRef);
  if (found) return found;
  return refuseTarget(
    canary,
    'spec.targetRef.kind',
    `${kind} ${name} cannot be rolled out by this version; supported: ${kinds.map((one) => one.kind).join(', ')}`,
  );
}

/** Kinds that are rolled out in place: another one is one more file and one more entry here. */
const nativeKinds: readonly NativeKind[] = [nativeDeployment, nativeStatefulSet, nativeDaemonSet];

/** The kind of a Canary's target. Throws RefusedError for one that cannot be rolled out in place. */
export function nativeKind(canary: Canary): NativeKind {
  const { kind } = canary.spec.targetRef;
  const found = nativeKinds.find((one) => one.kind === kind);
  if (found) return found;
  return refuseTarget(
    canary,
    'spec.targetRef.kind',
    `must be one of ${nativeKinds.map((one) => one.kind).join(', ')} for provider native, not ${kind}`,
  );
}

/** The objects of the two sides of a Canary. */

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
  if (kind.sides === 'revisions') {
    // Requests to a revision that is gone are answered by nobody: it is made anew, as a primary that was deleted.
    const revision = target && primaryRevisionOf(target);
    const isThere = revision !== undefined && get(revisionKind, revision) !== undefined;
    return { target, primary: isThere ? primarySide(target) : undefined, wanted: target };
  }
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
 * start a release, but none to stop a revert, whose earlier copies are still there. `unwanted` names copies that must not be there.
 * Throws RefusedError.
 */
export function primaryObjects(
  source: PrimarySource,
): SideObjects & { missing: ReturnType<typeof missingConfigs>; unwanted: ReturnType<typeof unwantedCopies> } {
  return {
    configs: configCopies(source),
    workload: workloadKind(source.canary).primary(source),
    missing: missingConfigs(source),
    unwanted: unwantedCopies(source),
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
