import { expect, test } from 'vitest';
import { nextDelayMs, scheduleProblem } from './schedule.ts';

const now = Date.parse('2026-11-01T10:00:30Z');

test('spreads an interval by a tenth to both sides', () => {
  const schedule = { kind: 'interval', intervalMs: 30_000 } as const;
  expect(nextDelayMs(schedule, now, 0)).toBe(27_000);
  expect(nextDelayMs(schedule, now, 0.5)).toBe(30_000);
  expect(nextDelayMs(schedule, now, 0.999_999)).toBe(33_000);
});

test('waits for the next date of a cron schedule', () => {
  expect(nextDelayMs({ kind: 'cron', expression: '*/2 * * * *' }, now, 0)).toBe(90_000);
});

test('reads a cron schedule in its time zone', () => {
  const schedule = { kind: 'cron', expression: '0 8 * * *', timeZone: 'Europe/Oslo' } as const;
  const next = new Date(now + nextDelayMs(schedule, now, 0)).toISOString();
  expect(next).toBe('2026-11-02T07:00:00.000Z');
});

test.each([
  ['0 0 31 2 *', undefined],
  ['0 0 L * *', undefined],
  ['61 * * * *', undefined],
  ['', undefined],
  ['* * * * *', 'Nowhere/Town'],
])('refuses schedule %j in zone %j', (expression, zone) => {
  expect(scheduleProblem(expression, zone, now)).toMatch(/schedule/);
});

test.each(['*/5 * * * *', '@hourly', '0 0 29 2 *'])('accepts schedule %j', (expression) => {
  expect(scheduleProblem(expression, 'Europe/Oslo', now)).toBeUndefined();
});
