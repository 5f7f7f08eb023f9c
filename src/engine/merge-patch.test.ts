import { expect, test } from 'vitest';
import { mergePatchOf } from './merge-patch.ts';

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
