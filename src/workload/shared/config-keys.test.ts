import { expect, test } from 'vitest';
import type { PodTemplate } from '../../api/kubernetes.ts';
import { holdsKey, neededKeys } from './config-keys.ts';

test('keys of env, envFrom, volumes and projected volumes are needed, each once; what is optional is not', () => {
  const template = {
    spec: {
      initContainers: [{ name: 'init', envFrom: [{ secretRef: { name: 'boot' } }] }],
      containers: [
        {
          name: 'app',
          env: [
            { name: 'A', valueFrom: { configMapKeyRef: { name: 'flags', key: 'a' } } },
            { name: 'B', valueFrom: { configMapKeyRef: { name: 'flags', key: 'a' } } },
            { name: 'C', valueFrom: { secretKeyRef: { name: 'maybe', key: 'c', optional: true } } },
            { name: 'D', value: 'plain' },
          ],
        },
      ],
      volumes: [
        { name: 'v', secret: { secretName: 'tls', items: [{ key: 'tls.crt', path: 'crt' }] } },
        { name: 'p', projected: { sources: [{ configMap: { name: 'parts' } }] } },
        { name: 'o', configMap: { name: 'later', optional: true } },
      ],
    },
  } as unknown as PodTemplate;
  expect(neededKeys(template)).toEqual([
    { kind: 'Secret', name: 'tls', key: undefined },
    { kind: 'Secret', name: 'tls', key: 'tls.crt' },
    { kind: 'ConfigMap', name: 'parts', key: undefined },
    { kind: 'ConfigMap', name: 'flags', key: 'a' },
    { kind: 'Secret', name: 'boot', key: undefined },
  ]);
});

test('a key may stand in data, binaryData or stringData', () => {
  const object = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    stringData: { a: '' },
    data: { b: '' },
  };
  expect(['a', 'b', 'toString'].map((key) => holdsKey(object, key))).toEqual([true, true, false]);
});
