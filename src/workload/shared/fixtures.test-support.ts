/** Objects that the tests of this folder start from. */
import type { Canary, CanarySpec } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Release } from '../../release/release.ts';
import { defaultSelectorLabels } from './metadata.ts';
import type { PrimarySource } from './workload-kind.ts';

/** A Canary of Deployment podinfo in namespace shop. */
export function aCanary(spec: Partial<CanarySpec> = {}): Canary {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'podinfo', namespace: 'shop', uid: 'canary-uid' },
    spec: {
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' },
      service: { port: 9898 },
      analysis: { interval: '10s', threshold: 2, stepWeight: 20 },
      ...spec,
    },
  };
}

/** Deployment podinfo as it stands in Git. */
export function aTarget(): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'podinfo',
      namespace: 'shop',
      labels: { team: 'store', 'kustomize.toolkit.fluxcd.io/name': 'shop' },
      annotations: { owner: 'store@example.com', 'kustomize.toolkit.fluxcd.io/checksum': 'abc' },
    },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'podinfo' } },
      template: {
        metadata: {
          labels: { app: 'podinfo', tier: 'web' },
          annotations: { 'prometheus.io/scrape': 'true', 'holdfast.dev/digest': 'stray' },
        },
        spec: {
          containers: [
            {
              name: 'podinfod',
              image: 'example.com/podinfo:6.0.0',
              ports: [{ name: 'http', containerPort: 9898 }],
              env: [
                { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'podinfo-config', key: 'color' } } },
              ],
              envFrom: [{ secretRef: { name: 'podinfo-secret' } }, { configMapRef: { name: 'shared' } }],
            },
          ],
          volumes: [{ name: 'config', configMap: { name: 'podinfo-config' } }],
        },
      },
    },
  };
}

/** A release of that Deployment with one ConfigMap from Git and one Secret that only the cluster has. */
export function aRelease(target: KubernetesObject = aTarget()): Release {
  return {
    digest: 'v1:0123abcd',
    commit: {
      commit: '0123456789012345678901234567890123456789',
      subject: 'Release 6',
      author: 'Kim',
      time: '2026-01-01T00:00:00Z',
    },
    canary: { namespace: 'shop', name: 'podinfo' },
    target,
    ports: [{ name: 'http', protocol: 'TCP', port: 9898, targetPort: 9898 }],
    configs: [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'podinfo-config', namespace: 'shop', labels: { team: 'store' } },
        data: { color: 'blue' },
        binaryData: { logo: 'AAEC' },
      },
    ],
    liveConfigs: [{ kind: 'Secret', name: 'podinfo-secret', optional: false }],
    origins: ['shop/podinfo.yaml:1'],
  };
}

/** The Secret of that release as the cluster holds it. */
export function aLiveSecret(): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'podinfo-secret', namespace: 'shop', uid: 'secret-uid', resourceVersion: '7' },
    type: 'Opaque',
    data: { token: 'c2VjcmV0' },
  };
}

/** Everything the primary of that release is built from. */
export function aPrimarySource(changes: Partial<PrimarySource> = {}): PrimarySource {
  return {
    canary: aCanary(),
    release: aRelease(),
    settings: { replicas: 3 },
    settingsKey: 'settings-1',
    replicas: 3,
    selectorLabels: defaultSelectorLabels,
    includeLabelPrefixes: [],
    liveConfigs: [aLiveSecret()],
    sharedConfigs: new Set(),
    live: undefined,
    ...changes,
  };
}
