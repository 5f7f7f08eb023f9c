import { describe, expect, test } from 'vitest';
import { isSame } from './finish.ts';

describe('two statuses', () => {
  test.each([
    [
      { a: 1, b: [1, { c: 2 }] },
      { b: [1, { c: 2 }], a: 1 },
    ],
    [{ a: 1, b: undefined }, { a: 1 }],
    [{ a: { lastTransitionTime: 'x', b: 1 } }, { a: { lastTransitionTime: 'y', b: 1 } }],
    [{}, { lastTransitionTime: 'y' }],
  ])('%j says the same as %j', (a, b) => {
    expect([isSame(a, b), isSame(b, a)]).toEqual([true, true]);
  });

  test.each([
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { a: '1' }],
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: [1] }, { a: [1, 2] }],
    [{ a: [] }, { a: {} }],
    [{ a: null }, { a: {} }],
    [{ a: 0 }, {}],
  ])('%j says something else than %j', (a, b) => {
    expect([isSame(a, b), isSame(b, a)]).toEqual([false, false]);
  });
});
