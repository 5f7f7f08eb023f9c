import { describe, expect, it } from 'vitest';
import { newestFirst, nextSequence } from './record-order.ts';
import { provenReleases } from './run.ts';
import type { RecordView, World } from './world.ts';

function record(digest: string, promotedTime?: string, sequence?: number): RecordView {
  const commit = { commit: digest, subject: '', author: '', time: '' };
  return { digest, commit, name: digest, promotedTime, ...(sequence === undefined ? {} : { sequence }) };
}

/** Stamped by a leader whose clock was ahead. */
const ahead = '2099-01-01T00:00:00Z';
const now = '2026-11-21T12:00:00Z';
const before = '2026-11-20T12:00:00Z';

describe('the order of records', () => {
  it('is the one in which releases proved themselves, whatever clocks said (S30)', () => {
    const records = [record('first', ahead, 1), record('third', before, 3), record('second', now, 2)];
    expect(records.sort(newestFirst).map(({ digest }) => digest)).toEqual(['third', 'second', 'first']);
    const world = { records, rejected: [], status: {} } as unknown as World;
    expect(provenReleases(world).map(({ digest }) => digest)).toEqual(['third', 'second', 'first']);
  });

  it('has records of before there was a sequence behind all that have one', () => {
    const records = [
      record('old', before),
      record('ahead', ahead),
      record('new', now, 1),
      record('unproven'),
    ];
    const sorted = ['unproven', 'new', 'ahead', 'old'];
    expect(
      records
        .toReversed()
        .sort(newestFirst)
        .map(({ digest }) => digest),
    ).toEqual(sorted);
    expect(records.sort(newestFirst).map(({ digest }) => digest)).toEqual(sorted);
  });
});

describe('the next number', () => {
  it.each([
    ['the first release', [], 'a', 1],
    ['records of before', [record('a', ahead)], 'b', 1],
    ['another release', [record('a', now, 4), record('b', now, 2)], 'c', 5],
    ['one that proves itself again', [record('a', now, 4), record('b', now, 2)], 'b', 5],
    ['one that proved itself last', [record('a', now, 4), record('b', now, 2)], 'a', 4],
    ['one of two with the same number', [record('a', now, 4), record('b', now, 4)], 'a', 5],
  ] as const)('of %s', (_what, records, digest, expected) => {
    expect(nextSequence(records, digest)).toBe(expected);
  });
});
