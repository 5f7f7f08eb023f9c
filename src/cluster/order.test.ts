import { describe, expect, it } from 'vitest';
import { compareForApply } from './order.ts';

const object = (apiVersion: string, kind: string, name = 'x', namespace = 'shop') => ({
  apiVersion,
  kind,
  metadata: { name, namespace },
});

describe('compareForApply', () => {
  it('puts what others need first, and admission webhooks last', () => {
    const objects = [
      object('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration'),
      object('flagger.app/v1beta1', 'Canary'),
      object('apps/v1', 'Deployment', 'b'),
      object('apps/v1', 'Deployment', 'a'),
      object('v1', 'Secret'),
      object('rbac.authorization.k8s.io/v1', 'RoleBinding'),
      object('apiextensions.k8s.io/v1', 'CustomResourceDefinition'),
      object('v1', 'Service'),
      object('v1', 'ServiceAccount'),
      object('v1', 'Namespace'),
    ];
    const order = objects.sort(compareForApply).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(order).toEqual([
      'Namespace x',
      'CustomResourceDefinition x',
      'ServiceAccount x',
      'RoleBinding x',
      'Secret x',
      'Service x',
      'Deployment a',
      'Deployment b',
      'Canary x',
      'ValidatingWebhookConfiguration x',
    ]);
  });

  it('takes a custom kind with a built-in name for custom', () => {
    const custom = object('serving.knative.dev/v1', 'Service');
    expect(compareForApply(object('apps/v1', 'Deployment'), custom)).toBeLessThan(0);
  });

  it('is a total order: equal only for the same object', () => {
    expect(compareForApply(object('v1', 'Pod'), object('v1', 'Pod'))).toBe(0);
    expect(compareForApply(object('v1', 'Pod', 'x', 'a'), object('v1', 'Pod', 'x', 'b'))).toBeLessThan(0);
  });
});
