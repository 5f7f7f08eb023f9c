import { expect, test } from 'vitest';
import type { Condition } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { withOthers } from './others-stay.ts';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const time = '2025-12-31T00:00:00.000Z';

function reverted(
  status: Condition['status'],
  message = 'v2 was reverted to v1: latency 900 ms',
): Condition[] {
  return [
    {
      type: 'Reverted',
      status,
      reason: 'ChecksFailed',
      message,
      lastTransitionTime: time,
      lastUpdateTime: time,
    },
  ];
}

test('what stays is named behind what was said, and the revert keeps its time', () => {
  const [condition] = withOthers(reverted('True'), ['ConfigMap shop/other'], nowMs);

  expect(condition?.message).toBe(
    'v2 was reverted to v1: latency 900 ms; stays as head says: ConfigMap shop/other',
  );
  expect(condition?.lastTransitionTime).toBe(time);
});

test('saying it again changes nothing, and another list takes the place of the first', () => {
  const once = withOthers(reverted('True'), ['ConfigMap shop/other'], nowMs);

  expect(withOthers(once, ['ConfigMap shop/other'], nowMs + 1000)).toEqual(once);
  expect(withOthers(once, [], nowMs)[0]?.message).toBe('v2 was reverted to v1: latency 900 ms');
});

test('many and long names are counted and cut, so that the condition keeps its limit', () => {
  const many = Array.from({ length: 500 }, (_, index) => `ConfigMap shop/${'x'.repeat(200)}${index}`);

  const [condition] = withOthers(reverted('True', 'y'.repeat(1024)), many, nowMs);

  expect(condition?.message?.length).toBeLessThanOrEqual(limits.conditionMessageCharacters);
  expect(condition?.message).toMatch(/ConfigMap shop\/x+0, ConfigMap shop\/x+1 and 498 more$/);
});

test('a revert that is under way or over says nothing of it', () => {
  for (const status of ['Unknown', 'False'] as const)
    expect(withOthers(reverted(status), ['ConfigMap shop/other'], nowMs)).toEqual(reverted(status));
});
