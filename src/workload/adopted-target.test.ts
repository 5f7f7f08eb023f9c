import { describe, expect, it } from 'vitest';
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import { adoptedConfigs, adoptedTarget, comparableTemplate, possibleCopies } from './adopted-target.ts';
import { primaryTemplate } from './shared/pod-template.ts';

const selectorLabels = ['app', 'name'];
const label = { key: 'app', canary: 'web-app', primary: 'web-app-primary' };

function workload(name: string, template: PodTemplate, app: string): KubernetesObject {
  const spec = { replicas: 3, selector: { matchLabels: { app } }, minReadySeconds: 5, template };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'shop' }, spec };
}

function config(name: string, data: Record<string, string>): KubernetesObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, data };
}

const template: PodTemplate = {
  metadata: { labels: { app: 'web-app', tier: 'front' }, annotations: { note: 'x' } },
  spec: {
    containers: [
      {
        name: 'app',
        image: 'web:1',
        envFrom: [{ configMapRef: { name: 'settings' } }, { secretRef: { name: 'shared-primary' } }],
        env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'token', key: 'a' } } }],
      },
    ],
    volumes: [{ name: 'v', projected: { sources: [{ configMap: { name: 'settings' } }] } }],
    topologySpreadConstraints: [
      { maxSkew: 1, labelSelector: { matchLabels: { app: 'web-app', name: 'web' } } },
    ],
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          {
            labelSelector: { matchExpressions: [{ key: 'name', operator: 'In', values: ['web', 'other'] }] },
          },
        ],
      },
    },
  },
};
const target = workload('web', template, 'web-app');

/** As Flagger would have made it from the target, with its stamp. */
function primaryOf(tracked: readonly string[]): KubernetesObject {
  const configNames = (_: string, name: string) => (tracked.includes(name) ? `${name}-primary` : undefined);
  const made = primaryTemplate(template, { targetName: 'web', label, selectorLabels, configNames });
  const annotations = { ...made.metadata?.annotations, 'flagger-id': 'a-uuid' };
  return workload('web-primary', { ...made, metadata: { ...made.metadata, annotations } }, 'web-app-primary');
}

describe('the target of a primary', () => {
  it('is what the primary was made from', () => {
    const copies = [config('settings-primary', { a: '1' })];
    const adopted = adoptedTarget({ primary: primaryOf(['settings']), target, copies, selectorLabels });
    expect(adopted).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'shop', annotations: {} },
      spec: { selector: { matchLabels: { app: 'web-app' } }, minReadySeconds: 5, template },
    });
    expect(adoptedConfigs(copies)).toMatchObject([{ metadata: { name: 'settings' }, data: { a: '1' } }]);
  });

  it('names a config under its own name where there is no copy of it', () => {
    const primary = primaryOf([]);
    expect(possibleCopies(primary).map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'Secret shared-primary',
    ]);
    const adopted = adoptedTarget({ primary, target, copies: [], selectorLabels });
    expect(adopted.spec).toMatchObject({ template });
  });
});

it('a template is compared without the bookkeeping of tools', () => {
  const annotations = { note: 'x', 'flagger-id': '1', 'kustomize.toolkit.fluxcd.io/checksum': 'c' };
  expect(
    comparableTemplate({ ...template, metadata: { labels: { app: 'a' }, annotations } }).metadata,
  ).toEqual({
    labels: { app: 'a' },
    annotations: { note: 'x' },
  });
});
