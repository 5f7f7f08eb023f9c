import { expect, test } from 'vitest';
import { withCondition } from './conditions.ts';

const first = withCondition([], { type: 'Ready', status: 'False', reason: 'A', message: 'a' }, 1_000);

test('the same news keeps every byte', () => {
  expect(withCondition(first, { type: 'Ready', status: 'False', reason: 'A', message: 'a' }, 9_000)).toEqual(
    first,
  );
});

test('another reason keeps the time of the transition, another status moves it', () => {
  const reason = withCondition(first, { type: 'Ready', status: 'False', reason: 'B', message: 'b' }, 9_000);
  expect(reason[0]).toMatchObject({ reason: 'B', lastTransitionTime: new Date(1_000).toISOString() });
  const status = withCondition(reason, { type: 'Ready', status: 'True', reason: 'B', message: 'b' }, 9_000);
  expect(status[0]?.lastTransitionTime).toBe(new Date(9_000).toISOString());
});

test('other conditions stay, and long messages are cut', () => {
  const both = withCondition(
    first,
    { type: 'Held', status: 'True', reason: 'X', message: 'm'.repeat(5_000) },
    1,
  );
  expect(both.map(({ type }) => type)).toEqual(['Ready', 'Held']);
  expect(both[1]?.message.length).toBe(1_024);
});
