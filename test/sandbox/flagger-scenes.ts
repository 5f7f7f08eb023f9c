import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { Scene } from '../flagger/left-behind.ts';
import { canary, deployment } from './holdfast-bed.ts';

const gateway = { port: 80, targetPort: 8080, gatewayRefs: [{ name: 'gateway', namespace: 'gateways' }] };

/** A version of the application as Flux applies it: config, and values that only live objects carry. */
export function version(number: number): KubernetesObject {
  const object = JSON.parse(deployment(`shop/web:${number}`)) as KubernetesObject;
  const spec = object.spec as {
    replicas?: number;
    template: { metadata: object; spec: { containers: object[] } };
  };
  delete spec.replicas;
  spec.template.metadata = {
    labels: { app: 'web', tier: 'front' },
    annotations: { 'prometheus.io/scrape': 'true', 'kustomize.toolkit.fluxcd.io/checksum': 'abc' },
  };
  spec.template.spec.containers = spec.template.spec.containers.map((container) => ({
    ...container,
    envFrom: [{ configMapRef: { name: 'settings' } }],
  }));
  object.metadata.labels = { 'kustomize.toolkit.fluxcd.io/name': 'shop' };
  return object;
}

/** The ConfigMap of those pods. */
export function settings(mode: string): KubernetesObject {
  const metadata = { name: 'settings', namespace: 'shop' };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { mode } };
}

/** That application as Flagger leaves it at rest, unless said otherwise. */
export function scene(more: Partial<Scene> & Pick<Scene, 'status'>): Scene {
  return {
    canary: JSON.parse(
      canary({
        spec: { provider: 'gatewayapi:v1', service: gateway },
        analysis: { iterations: undefined, stepWeight: 40, maxWeight: 80, interval: '500ms' },
      }),
    ),
    target: version(1),
    promoted: version(1),
    configs: [settings('one')],
    targetReplicas: 0,
    ...more,
  };
}
