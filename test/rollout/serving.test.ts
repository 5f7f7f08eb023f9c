/** What the status says serves, while the primary is not as it was asked to be. */
import { expect, it } from 'vitest';
import { GOOD, Model } from './model.ts';
import { until } from './waits.ts';

const primaryOf = ({ status }: Model) =>
  status.serving?.find(({ workload }) => workload.endsWith('-primary'));

it('until a pod of the new release is ready, the primary serves the release before with the pods that are left', () => {
  const model = new Model();
  model.commit('a');
  model.until('Initialized');
  model.commit('b', { ...GOOD, primaryReady: false });
  until(model, () => model.primary?.digest === 'b' && (primaryOf(model)?.weight ?? 0) > 0);

  expect(primaryOf(model)).toMatchObject({ digest: 'a', subject: 'release a' });
  expect(primaryOf(model)?.ready).toBeGreaterThan(0);
});

it('a primary without a ready pod serves with none, as the release that it was asked to run', () => {
  const model = new Model();
  model.commit('a');
  model.until('Initialized');
  model.breakPods('primary', 2, { fault: 'ProbeFailing' });
  until(model, () => primaryOf(model)?.ready === 0);

  expect(primaryOf(model)).toMatchObject({ digest: 'a', weight: 100 });
});
