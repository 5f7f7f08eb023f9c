import { expect, test } from 'vitest';
import { applyWaves, backendOf } from './apply-order.ts';

function object(kind: string, name = kind.toLowerCase()) {
  return { apiVersion: 'v1', kind, metadata: { name, namespace: 'shop' } };
}

test('what others need comes first, Canaries after what they name, webhooks and policies last', () => {
  const kinds = [
    'Canary',
    'ValidatingWebhookConfiguration',
    'ValidatingAdmissionPolicyBinding',
    'GatewayClass',
    'Deployment',
    'ConfigMap',
    'Namespace',
    'Service',
    'MetricTemplate',
    'RoleBinding',
    'Role',
  ];
  const waves = applyWaves(kinds.map((kind) => object(kind)));
  expect(waves.map((wave) => wave.map(({ kind }) => kind))).toEqual([
    ['Namespace'],
    ['GatewayClass', 'Role'],
    ['ConfigMap', 'RoleBinding'],
    ['MetricTemplate', 'Service'],
    ['Deployment'],
    ['Canary'],
    ['ValidatingAdmissionPolicyBinding', 'ValidatingWebhookConfiguration'],
  ]);
});

test('objects of a wave are in the order of their names, so that two runs are alike', () => {
  const [wave] = applyWaves([object('ConfigMap', 'b'), object('ConfigMap', 'a')]);
  expect(wave?.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
});

test.each<[string, object, string | undefined]>([
  ['a Deployment in the namespace of its Service', { namespace: 'shop' }, 'deployment'],
  ['nothing of another namespace', { namespace: 'other' }, undefined],
  ['nothing where it asks no Service', {}, undefined],
])('a webhook and an APIService are kept back by %s', (_, place, expected) => {
  const refused = [object('Role', 'x'), object('Deployment')].map((one) => ({
    ...one,
    apiVersion: one.kind === 'Role' ? 'rbac.authorization.k8s.io/v1' : 'apps/v1',
  }));
  const service = 'namespace' in place ? { service: { name: 'hook', ...place } } : {};
  const webhook = { ...object('ValidatingWebhookConfiguration'), webhooks: [{ clientConfig: service }] };
  const api = { ...object('APIService'), spec: service };
  const names = [webhook, api].map((one) => backendOf(one, refused)[0]?.metadata.name);
  expect(names).toEqual([expected, expected]);
});
