import { expect, test } from 'vitest';
import type { CanaryStatus } from '../../api/canary-status.ts';
import type { Action } from '../../rollout/action.ts';
import { saysNothing, withoutUndone } from './undone.ts';

const before: CanaryStatus = {
  phase: 'Progressing',
  scaler: { kind: 'HorizontalPodAutoscaler', name: 'old' },
  handled: {},
};
const decided: CanaryStatus = {
  phase: 'Succeeded',
  handled: { retry: 'abc' },
  scaledDown: { time: '2026-01-01T00:00:00Z', count: 3 },
};

test('a refused rejection keeps nothing of the status back', () => {
  const reject: Action = { type: 'Reject', digest: 'v1:b', commit: 'c', reason: 'ChecksFailed' };
  expect(withoutUndone(decided, before, [reject])).toEqual(decided);
  expect(saysNothing([reject])).toBe(false);
});

test('a request whose action was refused stays unanswered, so that it is handled again', () => {
  const undone: Action[] = [{ type: 'Unreject', digest: 'v1:b' }];
  expect(saysNothing(undone)).toBe(true);
  expect(withoutUndone(decided, before, undone)).toEqual(before);
});

test('a scaler that could not be removed, and pods that could not be taken away, are remembered as they were', () => {
  const undone: Action[] = [
    { type: 'RemoveScaler', kind: 'HorizontalPodAutoscaler', name: 'old' },
    { type: 'ScaleCanary', replicas: 0 },
  ];
  expect(withoutUndone(decided, before, undone)).toEqual({
    phase: 'Succeeded',
    handled: { retry: 'abc' },
    scaler: { kind: 'HorizontalPodAutoscaler', name: 'old' },
  });
});
