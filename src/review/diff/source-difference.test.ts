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
