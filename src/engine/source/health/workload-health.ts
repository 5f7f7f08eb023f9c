import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { numberOf, recordOf, recordsOf } from '../../../release/json.ts';
import type { Health } from './verdict.ts';

/** A Deployment, StatefulSet or DaemonSet is rolled out: all its pods are of the last template, and available. */
export function workloadHealth(live: KubernetesObject): Health {
  const status = recordOf(live.status);
  if (numberOf(status.observedGeneration) === undefined)
    return { kind: 'progressing', why: 'its controller has not seen it yet' };
  const late = recordsOf(status.conditions).find(
    ({ type, reason }) => type === 'Progressing' && reason === 'ProgressDeadlineExceeded',
  );
  if (late) return { kind: 'failed', why: 'its progress deadline is exceeded' };
  const isDaemonSet = live.kind === 'DaemonSet';
  const wanted = isDaemonSet
    ? (numberOf(status.desiredNumberScheduled) ?? 0)
    : (numberOf(recordOf(live.spec).replicas) ?? 1);
  const updated = numberOf(isDaemonSet ? status.updatedNumberScheduled : status.updatedReplicas) ?? 0;
  const available = numberOf(isDaemonSet ? status.numberAvailable : status.availableReplicas) ?? 0;
  const total = numberOf(isDaemonSet ? status.currentNumberScheduled : status.replicas) ?? 0;
  if (updated < expected(live, wanted)) return waits(`${updated} of ${wanted} pods have the last template`);
  if (!isDaemonSet && total > wanted) return waits(`${total - wanted} pods of an older template are left`);
  if (available < wanted) return waits(`${available} of ${wanted} pods are available`);
  return { kind: 'healthy' };
}

/** A StatefulSet updates down to its partition, and nothing by itself with OnDelete; nor does a DaemonSet. */
function expected(live: KubernetesObject, wanted: number): number {
  const strategy = recordOf(recordOf(live.spec).updateStrategy);
  if (strategy.type === 'OnDelete') return 0;
  return Math.max(0, wanted - (numberOf(recordOf(strategy.rollingUpdate).partition) ?? 0));
}

function waits(why: string): Health {
  return { kind: 'progressing', why };
}
