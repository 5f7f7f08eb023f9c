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
  expect(nextDelayMs({ kind: 'cron', schedule: '*/2 * * * *' }, now, 0)).toBe(90_000);
});

test('reads a cron schedule in its time zone', () => {
  const schedule = { kind: 'cron', schedule: '0 8 * * *', timeZone: 'Europe/Oslo' } as const;
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

/** The times of a day's polls and of the next two, each asked for when the one before comes. */
function pollsFrom(time: string, schedule: string, timeZone: string): string[] {
  const polls: string[] = [];
  let atMs = Date.parse(time);
  while (polls.length < 3) {
    atMs += nextDelayMs({ kind: 'cron', schedule, timeZone }, atMs, 0);
    polls.push(new Date(atMs).toISOString().replace(':00.000', ''));
  }
  return polls;
}

test.each([
  ['0 3 * * *', 'Europe/Oslo', '2026-10-24T12:00:00Z', ['10-25T02:00', '10-26T02:00', '10-27T02:00']],
  ['30 2 * * *', 'Europe/Oslo', '2026-03-28T12:00:00Z', ['03-29T01:00', '03-30T00:30', '03-31T00:30']],
  ['0 1 * * *', 'America/Havana', '2026-10-31T12:00:00Z', ['11-01T06:00', '11-02T06:00', '11-03T06:00']],
  ['0 0 * * *', 'America/Havana', '2026-03-07T12:00:00Z', ['03-08T05:00', '03-09T04:00', '03-10T04:00']],
  ['0 0 * * *', 'Asia/Beirut', '2026-10-24T12:00:00Z', ['10-24T22:00', '10-25T22:00', '10-26T22:00']],
  ['30 0 * * *', 'Africa/Cairo', '2026-10-29T12:00:00Z', ['10-29T22:30', '10-30T22:30', '10-31T22:30']],
  ['30 0 * * *', 'Africa/Cairo', '2026-04-23T12:00:00Z', ['04-23T22:00', '04-24T21:30', '04-25T21:30']],
])('polls once a day by %j in %s where clocks turn: after %s', (schedule, zone, time, polls) => {
  expect(pollsFrom(time, schedule, zone)).toEqual(polls.map((poll) => `2026-${poll}Z`));
});

test.each(['*', '*/1', '0-23'])(
  'goes on by the quarter of an hour where midnight comes twice (hour %s)',
  (hour) => {
    expect(pollsFrom('2026-04-05T02:45:00Z', `*/15 ${hour} * * *`, 'America/Santiago')).toEqual([
      '2026-04-05T03:00Z',
      '2026-04-05T03:15Z',
      '2026-04-05T03:30Z',
    ]);
  },
);
