import { expect, test } from 'vitest';
import type { WorkloadView } from '../../rollout/world.ts';
import { checkSubject } from './check-subject.ts';

const world = {
  target: { name: 'web' } as WorkloadView,
  primary: { name: 'web-primary' } as WorkloadView,
};

test('a check is about the workload of its role, beside the primary', () => {
  expect(checkSubject({ provider: 'contour', world }, { role: 'canary' })).toMatchObject({
    workload: 'web',
    primary: { workload: 'web-primary' },
  });
  expect(checkSubject({ provider: 'contour', world }, { role: 'primary' }).workload).toBe('web-primary');
});

test('in place, the primary it is compared with are the pods of the other templates', () => {
  const revision = { pods: 'web-2-.+', otherPods: 'web-1-.+' };
  expect(checkSubject({ provider: 'native', world, revision }, { role: 'canary' })).toMatchObject({
    pods: revision,
    primary: { pods: { pods: 'web-1-.+', otherPods: 'web-2-.+' } },
  });
});
