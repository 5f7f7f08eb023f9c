/** Why a workload cannot be rolled out in place, where several kinds say the same. Pure. */
import type { WorkloadSettings } from '../../release/release.ts';
import type { Unfit } from './native-kind.ts';

/** A share of one pod is all of it. `replicas`: as asked for; Kubernetes takes 1 where nobody says it. */
export function tooFew(replicas = 1): Unfit | undefined {
  if (replicas >= 2) return undefined;
  return {
    field: 'spec.replicas',
    message: `must be at least 2 for provider native, and is ${replicas}: a share of one pod is all of it; choose a provider that copies`,
  };
}

/** Of a StatefulSet or DaemonSet whose controller replaces no pod by itself. */
export function replacedByHand({ strategy }: WorkloadSettings): Unfit | undefined {
  const type = strategy?.type;
  if (type === undefined || type === 'RollingUpdate') return undefined;
  return {
    field: 'spec.updateStrategy.type',
    message: `must be RollingUpdate for provider native, not ${String(type)}: pods would only be replaced by hand, and never come back by themselves`,
  };
}
