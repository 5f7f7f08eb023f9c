/** The table of target kinds: a further kind is one more file and one more line here. */
import type { Canary } from '../api/canary/canary.ts';
import { daemonSet } from './daemonset/daemonset.ts';
import { nativeDaemonSet } from './daemonset/native.ts';
import { deployment } from './deployment/deployment.ts';
import { nativeDeployment } from './deployment/native.ts';
import { knative } from './knative/knative.ts';
import { service } from './service/service.ts';
import type { NativeKind } from './shared/native-kind.ts';
import { refuseTarget } from './shared/refusal.ts';
import type { WorkloadKind } from './shared/workload-kind.ts';
import { nativeStatefulSet } from './statefulset/native.ts';
import { statefulSet } from './statefulset/statefulset.ts';

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

/** As in Flagger, the apiVersion counts for Services only. */
function kindOf({ apiVersion, kind }: KindReference): WorkloadKind | undefined {
  return kinds.find((one) => one.kind === kind && (kind !== 'Service' || one.apiVersion === apiVersion));
}

/** Kinds to watch for a target of this kind: itself, and what its view is made from. None for a kind that is not supported. */
export function watchedKinds(reference: KindReference): ReadonlyArray<{ apiVersion: string; kind: string }> {
  const found = kindOf(reference);
  return found ? [{ apiVersion: found.apiVersion, kind: found.kind }, ...found.watches] : [];
}

/** The kind of a Canary's target. Throws RefusedError for one that is not supported. */
export function workloadKind(canary: Canary): WorkloadKind {
  const { kind, name } = canary.spec.targetRef;
  const found = kindOf(canary.spec.targetRef);
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
