import { expect, test } from 'vitest';
import { asStored, mergePatchOf, withCondition } from './status-patch.ts';

test('equal objects give no patch, whatever the order of their keys', () => {
  expect(mergePatchOf({ a: 1, b: { c: [1, 2] } }, { b: { c: [1, 2] }, a: 1 })).toBeUndefined();
});

test('fields that are gone become null, inner objects are merged, lists are replaced', () => {
  const before = { phase: 'Progressing', run: { step: 1, digest: 'd' }, checks: [1], gone: { a: 1 } };
  const after = { phase: 'Succeeded', run: { step: 2, digest: 'd' }, checks: [2, 3] };
  expect(mergePatchOf(before, after)).toEqual({
    phase: 'Succeeded',
    run: { step: 2 },
    checks: [2, 3],
    gone: null,
  });
});

test('a field that is undefined counts as absent', () => {
  expect(mergePatchOf({ a: 1 }, { a: undefined })).toEqual({ a: null });
  expect(mergePatchOf({}, { a: undefined })).toBeUndefined();
});

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

test('a status is compared as the API server returns it, which stores no half of a character', () => {
  const told = { message: 'a \ud83d told', parts: [{ text: '🚀', gone: undefined }] };

  expect(asStored(told)).toEqual({ message: 'a \uFFFD told', parts: [{ text: '🚀' }] });
});
