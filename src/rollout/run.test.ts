import { expect, test } from 'vitest';
import { lastKnownGood } from './run.ts';
import type { RecordView, RejectionView, World } from './world.ts';

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
