import { expect, test } from 'vitest';
import type { WorkloadView } from '../../health/workload-view.ts';
import { checkSubject } from './check-subject.ts';

const world = {
  target: { name: 'web' } as WorkloadView,
  primary: { name: 'web-primary' } as WorkloadView,
};

test('a check is about the workload of its role, beside the other one', () => {
  expect(checkSubject({ provider: 'contour', world }, { role: 'canary' })).toMatchObject({
    workload: 'web',
    other: { workload: 'web-primary' },
  });
  expect(checkSubject({ provider: 'contour', world }, { role: 'primary' })).toMatchObject({
    workload: 'web-primary',
    other: { workload: 'web' },
  });
});

test('in place, the primary it is compared with are the pods of the other templates', () => {
  const revision = { pods: 'web-2-.+', otherPods: 'web-1-.+' };
  expect(checkSubject({ provider: 'native', world, revision }, { role: 'canary' })).toMatchObject({
    pods: revision,
    other: { pods: { pods: 'web-1-.+', otherPods: 'web-2-.+' } },
  });
});
