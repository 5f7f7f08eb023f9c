import { expect, test } from 'vitest';
import { applyWaves } from './apply-order.ts';

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
