import { type KubernetesObject, namespacedName, recordOf } from '../../src/api/kubernetes.ts';
import { asNumber, at } from '../api-server/json.ts';
import { type Controller, type ControllerClient, splitKey } from './controller.ts';

const SCALERS = 'autoscaling/horizontalpodautoscalers';
const DEPLOYMENTS = 'apps/deployments';

/** Sets replicas within the bounds, as the real controller does without metrics; a workload at zero is not changed. */
export function horizontalPodAutoscaler(client: ControllerClient): Controller {
  return {
    name: 'horizontalpodautoscalers',
    keysFor(event) {
      if (event.storageKey === SCALERS) return [namespacedName(event.object)];
      if (event.storageKey !== DEPLOYMENTS) return [];
      const { name, namespace } = event.object.metadata;
      return client
        .list(SCALERS, namespace)
        .filter((scaler) => at(scaler, 'spec', 'scaleTargetRef', 'name') === name)
        .map(namespacedName);
    },
    reconcile(key) {
      const scaler = client.get(SCALERS, ...splitKey(key));
      const name = at(scaler, 'spec', 'scaleTargetRef', 'name');
      if (!scaler || scaler.metadata.deletionTimestamp || typeof name !== 'string') return;
      const deployment = client.get(DEPLOYMENTS, scaler.metadata.namespace, name);
      if (deployment) scale(client, scaler, deployment);
    },
  };
}

function scale(client: ControllerClient, scaler: KubernetesObject, deployment: KubernetesObject): void {
  const current = asNumber(at(deployment, 'spec', 'replicas'), 1);
  const least = asNumber(at(scaler, 'spec', 'minReplicas'), 1);
  const most = asNumber(at(scaler, 'spec', 'maxReplicas'));
  const wanted = current === 0 ? 0 : Math.min(most, Math.max(least, current));
  if (wanted !== current) client.scale(deployment, wanted);
  client.updateStatus(scaler, {
    ...recordOf(scaler.status),
    currentReplicas: asNumber(at(deployment, 'status', 'replicas')),
    desiredReplicas: wanted,
  });
}
