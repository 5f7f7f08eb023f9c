import { expect, it } from 'vitest';
import { jsonPointer, rangeOf } from './condition.ts';

it.each([
  ['result[0] >= 0.95', { min: 0.95 }],
  ['result[0] > 0.95 && result[0] < 2', { min: 0.95, max: 2 }],
  ['asFloat(result[0]) <= 5', { max: 5 }],
  ['(result[0] == 1)', { min: 1, max: 1 }],
  ['!isNaN(result[0]) and result[0] <= 5', { max: 5 }],
])('reads what passes as a range: %s', (condition, range) => {
  expect(rangeOf(condition, undefined, true)).toMatchObject({ range, pointer: '' });
});

it.each([
  ['result[0] < 0.95', { min: 0.95 }],
  ['result[0] < 1 || result[0] > 3', { min: 1, max: 3 }],
  ['len(result) > 0 && result[0] >= 5', { max: 5 }],
])('reads what fails as the range that is left: %s', (condition, range) => {
  expect(rangeOf(undefined, condition, true)).toMatchObject({ range });
});

it.each([
  ['result[0] >= 1', 'result[0] > 10', { min: 1, max: 10 }],
  ['result[0] >= 0.95', 'result[0] <= 0.9', { min: 0.95 }],
])(
  'what both conditions say together passes, as a failure comes first: %s, %s',
  (success, failure, range) => {
    const read = rangeOf(success, failure, true);
    expect(read).toHaveProperty('range', range);
    expect(read).toHaveProperty('notes', [expect.stringContaining('inconclusive')]);
  },
);

it.each([
  ['len(result) == 0 || result[0] <= 5', undefined, 'pass'],
  ['isNaN(result[0]) || result[0] <= 5', undefined, 'pass'],
  ['default(result, 0) <= 5', undefined, 'pass'],
  ['default(result, 9) <= 5', undefined, undefined],
  [undefined, 'len(result) > 0 && result[0] > 5', 'pass'],
  ['isNaN(result[0]) || result[0] <= 5', 'isNaN(result[0]) || result[0] > 9', undefined],
  [undefined, 'len(result) == 0 || len(result) > 0 && result[0] > 5', undefined],
  ['result[0] <= 5', undefined, undefined],
] as const)('says whether no data passes: %s, %s', (success, failure, onNoData) => {
  const read = rangeOf(success, failure, true);
  expect(read && 'range' in read && read.onNoData).toBe(onNoData);
});

it('says where an end of the range, or what lay between both conditions, is judged otherwise', () => {
  const notes = (success?: string, failure?: string) => {
    const read = rangeOf(success, failure, true);
    return read && 'notes' in read ? read.notes : undefined;
  };
  expect(notes('result[0] >= 5')).toEqual([]);
  expect(notes('result[0] > 5')).toEqual([expect.stringMatching(/^5 itself passes/)]);
  expect(notes(undefined, 'result[0] <= 5')).toEqual([expect.stringMatching(/^5 itself passes/)]);
  expect(notes('result[0] >= 5', 'result[0] < 1')).toEqual([expect.stringContaining('inconclusive')]);
});

it.each([
  'all(result, # > 1)',
  'result[0] != 1',
  'result[0] <= 1 || result[0] >= 5',
  'result[0] >= 1 && result[1] >= 1',
  'result[0] >= limit',
  'result[1] >= 1',
  'result[0].errors < 1',
  '',
])('takes no guess at another expression: %s', (condition) => {
  expect(rangeOf(condition, undefined, true)).toHaveProperty('problem');
});

it('finds the value of an answer, and whether it is true', () => {
  expect(rangeOf('result.data["error rate"] < 1', undefined, false)).toMatchObject({
    pointer: '/data/error rate',
  });
  expect(rangeOf('result.ok', undefined, false)).toMatchObject({ pointer: '/ok', range: { min: 1, max: 1 } });
  expect(rangeOf('!result.failed', undefined, false)).toMatchObject({ range: { min: 0, max: 0 } });
  expect(rangeOf('result == true', undefined, false)).toMatchObject({ range: { min: 1, max: 1 } });
  expect(rangeOf(undefined, undefined, false)).toBeUndefined();
  expect(jsonPointer('.items[*].ok')).toBeUndefined();
  expect(jsonPointer(".items[2]['a/b']")).toBe('/items/2/a~1b');
});
