/** The table of kinds that are rolled out in place: a further one is one more file and one more line here. */
import type { Canary } from '../../api/canary.ts';
import { describe } from '../../api/kubernetes.ts';
import { RefusedError } from '../refusal.ts';
import { nativeDaemonSet } from './daemon-set.ts';
import { nativeDeployment } from './deployment.ts';
import type { NativeKind } from './native-kind.ts';
import { nativeStatefulSet } from './stateful-set.ts';

const kinds: readonly NativeKind[] = [nativeDeployment, nativeStatefulSet, nativeDaemonSet];

/** The kind of a Canary's target. Throws RefusedError for one that cannot be rolled out in place. */
export function nativeKind(canary: Canary): NativeKind {
  const { kind } = canary.spec.targetRef;
  const found = kinds.find((one) => one.kind === kind);
  if (found) return found;
  throw new RefusedError({
    reason: 'TargetInvalid',
    object: describe(canary),
    field: 'spec.targetRef.kind',
    message: `must be one of ${kinds.map((one) => one.kind).join(', ')} for provider native, not ${kind}`,
  });
}
