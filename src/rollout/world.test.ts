import { describe, expect, it, test } from 'vitest';
import {
  lastKnownGood,
  newestFirst,
  nextSequence,
  provenReleases,
  type RecordView,
  type RejectionView,
  type World,
} from './world.ts';

const record = (digest: string, sequence: number): RecordView => {
  const commit = { commit: `sha-${digest}`, subject: '', author: '', time: '' };
  return { digest, commit, name: `record-${digest}`, promotedTime: '2026-01-01T00:00:00.000Z', sequence };
};
const rejection = (digest: string): RejectionView => {
  return { digest, commit: `sha-${digest}`, reason: 'RolledBack', time: '2026-01-02T00:00:00.000Z' };
};

function worldWith(rejected: readonly RejectionView[], noted: readonly RejectionView[] = []): World {
  const status = { rejected: noted.map((one) => ({ ...one, pending: true })) };
  return { status, rejected, records: [record('old', 1), record('new', 2)] } as unknown as World;
}

test('the last-known-good is what proved itself last', () => {
  expect(lastKnownGood(worldWith([]))?.digest).toBe('new');
});

test('a release that proved itself and was rejected later is not gone back to (S14)', () => {
  expect(lastKnownGood(worldWith([rejection('new')]))?.digest).toBe('old');
});

test('nor is one whose rejection is on its way to the Secret', () => {
  expect(lastKnownGood(worldWith([], [rejection('new')]))?.digest).toBe('old');
});

function recordView(digest: string, promotedTime?: string, sequence?: number): RecordView {
  const commit = { commit: digest, subject: '', author: '', time: '' };
  return { digest, commit, name: digest, promotedTime, ...(sequence === undefined ? {} : { sequence }) };
}

/** Stamped by a leader whose clock was ahead. */
const ahead = '2099-01-01T00:00:00Z';
const now = '2026-11-21T12:00:00Z';
const before = '2026-11-20T12:00:00Z';

describe('the order of records', () => {
  it('is the one in which releases proved themselves, whatever clocks said (S30)', () => {
    const records = [
      recordView('first', ahead, 1),
      recordView('third', before, 3),
      recordView('second', now, 2),
    ];
    expect(records.sort(newestFirst).map(({ digest }) => digest)).toEqual(['third', 'second', 'first']);
    const world = { records, rejected: [], status: {} } as unknown as World;
    expect(provenReleases(world).map(({ digest }) => digest)).toEqual(['third', 'second', 'first']);
  });

  it('sorts records without a sequence behind all that have one', () => {
    const records = [
      recordView('old', before),
      recordView('ahead', ahead),
      recordView('new', now, 1),
      recordView('unproven'),
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
    ['records without a sequence', [recordView('a', ahead)], 'b', 1],
    ['another release', [recordView('a', now, 4), recordView('b', now, 2)], 'c', 5],
    ['one that proves itself again', [recordView('a', now, 4), recordView('b', now, 2)], 'b', 5],
    ['one that proved itself last', [recordView('a', now, 4), recordView('b', now, 2)], 'a', 4],
    ['one of two with the same number', [recordView('a', now, 4), recordView('b', now, 4)], 'a', 5],
  ] as const)('of %s', (_what, records, digest, expected) => {
    expect(nextSequence(records, digest)).toBe(expected);
  });
});
