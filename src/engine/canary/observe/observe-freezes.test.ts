import { expect, test } from 'vitest';
import type { Canary } from '../../../api/canary/canary.ts';
import type { ReadParts } from '../context/observation.ts';
import { observe } from './observe.ts';

const canary = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { provider: 'native', targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
} as Canary;

test.each([
  ['its own time', undefined],
  ['the time of the calendar', Date.parse('2026-03-02T20:00:00Z')],
])(
  'a look at a Canary searches the windows of freezes for their next change at %s alone',
  async (_, setMs) => {
    const nowMs = Date.parse('2026-03-01T12:00:00Z');
    const asked: number[] = [];
    const parts = {
      clock: { nowMs: () => nowMs, ...(setMs ? { calendarMs: () => setMs } : {}) },
      options: { defaultProvider: 'native' },
      routing: () => undefined,
      namespace: () => ({ problem: () => undefined, unread: () => undefined }),
      freezes: {
        of(_: unknown, atMs: number) {
          asked.push(atMs);
          return 'unknown';
        },
      },
    } as unknown as ReadParts;

    expect(await observe(parts, canary)).toEqual({
      kind: 'waiting',
      message: 'the freezes are being listed',
    });
    expect(asked).toEqual([setMs ?? nowMs]);
  },
);
