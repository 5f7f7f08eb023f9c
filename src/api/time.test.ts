import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { durationOr, formatDurationMs, parseDurationMs, retryAfterMs } from './time.ts';

describe('durations', () => {
  test.each([
    ['30s', 30_000],
    ['1m', 60_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['500ms', 500],
    ['250us', 0.25],
    ['0', 0],
    ['0s', 0],
  ])('reads %s as %d ms', (text, expected) => {
    expect(parseDurationMs(text)).toBeCloseTo(expected, 6);
  });

  test.each([
    '',
    '5',
    's',
    '.s',
    '-5s',
    '+5s',
    '1d',
    '5 s',
    '30sx',
    '1m30',
    '1e3s',
    '..5s',
    '9999999999h',
    '٣s',
  ])('refuses %j as Go does, and signs', (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  });

  test('answers at once on a long text made to be slow', () => {
    expect(parseDurationMs('1'.repeat(100_000))).toBeUndefined();
    expect(parseDurationMs(`${'1m'.repeat(30)}x`)).toBeUndefined();
  });

  test('fall back on the default like Flagger', () => {
    expect(durationOr('30sx', 60_000)).toBe(60_000);
    expect(durationOr(undefined, 60_000)).toBe(60_000);
    expect(durationOr('10s', 60_000)).toBe(10_000);
  });

  test('are written so that reading them gives the same whole seconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000_000 }), (seconds) => {
        expect(parseDurationMs(formatDurationMs(seconds * 1_000))).toBe(seconds * 1_000);
      }),
      { numRuns: 200 },
    );
    expect(formatDurationMs(250)).toBe('250ms');
    expect(formatDurationMs(5_430_000)).toBe('1h30m30s');
  });
});

describe('Retry-After', () => {
  const nowMs = Date.parse('2026-01-01T00:00:00Z');

  test.each([
    ['7', 7_000],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
    ['soon', undefined],
    [undefined, undefined],
  ])('%j is %j milliseconds', (header, waitMs) => {
    expect(retryAfterMs(header, nowMs)).toBe(waitMs);
  });
});
