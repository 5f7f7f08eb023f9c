import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { compareApplied } from './source-difference.ts';

const settings = (data: Record<string, string>): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' } },
  data,
});

test('what applying would take away is shown beside what it would change', () => {
  const wanted = settings({ level: 'debug' });
  const live = settings({ level: 'info', former: 'yes' });
  expect(compareApplied(live, { wanted, written: wanted } as Parameters<typeof compareApplied>[1])).toEqual({
    state: 'differs',
    fields: [
      { path: 'data.level', expected: 'debug', actual: 'info' },
      { path: 'data.former', expected: '(absent)', actual: 'yes' },
    ],
  });
});

test.each<readonly [string, object, object, object]>([
  ['adds', {}, { enabled: false }, { path: 'spec.enabled', expected: 'false', actual: undefined }],
  ['takes away', { enabled: false }, {}, { path: 'spec.enabled', expected: '(absent)', actual: 'false' }],
])(
  'a false that Git %s of a custom resource is shown: to its controller absence may mean true',
  (_, now, then, field) => {
    const proxy = (spec: object): KubernetesObject => ({
      ...{ apiVersion: 'example.com/v1', kind: 'Proxy', metadata: { name: 'web', namespace: 'shop' } },
      spec: { replicas: 1, ...spec },
    });
    const written = proxy(then);
    expect(
      compareApplied(proxy(now), { wanted: written, written } as Parameters<typeof compareApplied>[1]),
    ).toEqual({ state: 'differs', fields: [field] });
  },
);
