import { expect, test } from 'vitest';
import { contactOf } from './dashboard-server.ts';

type Health = { kind?: string; healthy?: boolean; failures?: number; lastContactMs: number };

const contact = (nowMs: number, ...watches: readonly Health[]) =>
  contactOf(
    {
      caches: {
        health: () =>
          watches.map(({ kind = 'Canary', healthy = true, failures = 0, lastContactMs }) => ({
            selection: { apiVersion: 'flagger.app/v1beta1', kind },
            healthy,
            failures,
            lastContactMs,
            synced: true,
            lastError: '',
          })),
      },
    } as never,
    nowMs,
  );

test('of several watches of Canaries the one with the longest silence determines the age of a page', () => {
  const current = { lastContactMs: 99_000 };
  expect(contact(100_000, current, current)).toEqual({ isCurrent: true, lastMs: 99_000 });
  expect(contact(100_000, current, { healthy: false, lastContactMs: 40_000 })).toEqual({
    isCurrent: false,
    lastMs: 40_000,
  });
  expect(contact(100_000, current, { failures: 1, lastContactMs: 90_000 })?.isCurrent).toBe(false);
});

test('a watch that is reopened immediately, and watches of other kinds, do not age a page', () => {
  expect(contact(100_000, { failures: 1, lastContactMs: 96_000 })?.isCurrent).toBe(true);
  const other = { kind: 'Deployment', healthy: false, lastContactMs: 0 };
  expect(contact(100_000, other, { lastContactMs: 99_000 })).toEqual({ isCurrent: true, lastMs: 99_000 });
  expect(contact(100_000, other)).toBeUndefined();
});
