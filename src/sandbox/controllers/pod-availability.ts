import type { KubernetesObject } from '../../api/kubernetes.ts';
import { asNumber, asString, at } from '../json.ts';
import { findCondition } from './conditions.ts';
import type { ControllerClient } from './controller-client.ts';
import { isServing } from './pods.ts';

/** Milliseconds until the pod counts as available; 0 when it does, undefined while it is not ready. */
export function availableInMs(
  client: ControllerClient,
  workload: KubernetesObject,
  pod: KubernetesObject,
): number | undefined {
  if (!isServing(pod)) return undefined;
  const minReadyMs = asNumber(at(workload, 'spec', 'minReadySeconds')) * 1000;
  const since = Date.parse(
    asString(findCondition(at(pod, 'status', 'conditions'), 'Ready')?.lastTransitionTime),
  );
  return minReadyMs === 0 ? 0 : Math.max(0, since + minReadyMs - client.nowMs());
}
