import type { Container, KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import type { ReleaseInput } from './build.ts';

/** Objects for tests of releases. */

export const testKey = new Uint8Array(32).fill(7);

export const testCommit = {
  commit: '3b18e512dba79e4c8300dd08aeb37f8e728b8dad',
  subject: 'Pay faster',
  author: 'Ada <ada@example.com>',
  time: '2026-11-20T08:00:00Z',
};

export function container(extra: Partial<Container> = {}): Container {
  return { name: 'app', image: 'registry.example.com/app:1.2.3', ...extra };
}

export function template(extra: Record<string, unknown> = {}): PodTemplate {
  return { metadata: { labels: { app: 'pay' } }, spec: { containers: [container()], ...extra } };
}

export function deployment(
  pods: PodTemplate = template(),
  spec: Record<string, unknown> = {},
): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'pay', namespace: 'shop' },
    spec: { replicas: 2, selector: { matchLabels: { app: 'pay' } }, template: pods, ...spec },
  };
}

export function configMap(name: string, data: Record<string, string> = { key: 'value' }): KubernetesObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, data };
}

export function secret(name: string, stringData: Record<string, string>): KubernetesObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'shop' }, stringData };
}

export function releaseInput(extra: Partial<ReleaseInput> = {}): ReleaseInput {
  return {
    canary: { metadata: { name: 'pay', namespace: 'shop' }, spec: { service: { port: 80 } } },
    target: deployment(),
    configs: [],
    commit: testCommit,
    secretKey: testKey,
    origins: ['apps/pay.yaml:1'],
    ...extra,
  };
}
