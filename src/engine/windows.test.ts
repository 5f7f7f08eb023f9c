import { describe, expect, it } from 'vitest';
import { measureEffort } from '../../test/effort.ts';
import type { SourceWindow } from '../api/source/source.ts';
import { windowAt, windowProblems } from './windows.ts';

type Text = `${string} ${string}`;

/** `allow 0 8 * * 1-5 for 9h in Europe/Oslo`. */
function window(text: Text): SourceWindow {
  const [, kind, schedule = '', duration = '', timeZone] =
    /^(allow|deny) (.+) for (\S+?)(?: in (\S+))?$/.exec(text) ?? [];
  return { kind: kind as SourceWindow['kind'], schedule, duration, ...(timeZone ? { timeZone } : {}) };
}

/** `open`, or when it opens. */
function at(time: string, ...texts: Text[]): string {
  const view = windowAt(texts.map(window), Date.parse(time));
  return view?.open ? 'open' : new Date(view?.nextOpeningMs ?? Number.NaN).toISOString().replace('.000', '');
}

const office: Text = 'allow 0 8 * * 1-5 for 9h in Europe/Oslo';

describe('windows', () => {
  it('open at their beginning and are closed at their end', () => {
    expect(at('2026-11-20T06:59:59.999Z', office)).toBe('2026-11-20T07:00:00Z');
    expect(at('2026-11-20T07:00:00Z', office)).toBe('open');
    expect(at('2026-11-20T15:59:59.999Z', office)).toBe('open');
    expect(at('2026-11-20T16:00:00Z', office)).toBe('2026-11-23T07:00:00Z');
  });

  it.each([
    ['Europe/Oslo in spring', '2026-03-27T20:00:00Z', office, '2026-03-30T06:00:00Z'],
    ['Europe/Oslo in autumn', '2026-10-23T20:00:00Z', office, '2026-10-26T07:00:00Z'],
    [
      'America/New_York in spring',
      '2026-03-07T20:00:00Z',
      'allow 0 8 * * * for 1h in America/New_York',
      '2026-03-08T12:00:00Z',
    ],
    [
      'America/New_York in autumn',
      '2026-10-31T20:00:00Z',
      'allow 0 8 * * * for 1h in America/New_York',
      '2026-11-01T13:00:00Z',
    ],
    [
      'Asia/Kolkata, half an hour off',
      '2026-11-20T20:00:00Z',
      'allow 0 8 * * * for 1h in Asia/Kolkata',
      '2026-11-21T02:30:00Z',
    ],
    [
      'America/St_Johns in spring, half an hour off',
      '2026-03-07T20:00:00Z',
      'allow 0 8 * * * for 1h in America/St_Johns',
      '2026-03-08T10:30:00Z',
    ],
    [
      'Australia/Lord_Howe, whose clocks change by half an hour',
      '2026-10-03T20:00:00Z',
      'allow 0 8 * * * for 1h in Australia/Lord_Howe',
      '2026-10-03T21:00:00Z',
    ],
  ] as const)('follow the clocks of %s', (_, now, text, opens) => {
    expect(at(now, text)).toBe(opens);
    expect(at(opens, text)).toBe('open');
  });

  it('begin after an hour that is skipped, and once in an hour that comes twice', () => {
    const skipped: Text = 'allow 30 2 29 3 * for 30m in Europe/Oslo';
    expect(at('2026-03-29T00:59:59Z', skipped)).toBe('2026-03-29T01:00:00Z');
    const twice: Text = 'allow 30 2 25 10 * for 30m in Europe/Oslo';
    expect(at('2026-10-25T00:45:00Z', twice)).toBe('open');
    expect(at('2026-10-25T01:45:00Z', twice)).toBe('2027-10-25T00:30:00Z');
    expect(at('2026-10-25T00:20:00Z', 'allow 30 2 25 10 * for 5m in Europe/Oslo')).toBe(
      '2026-10-25T00:30:00Z',
    );
    expect(at('2026-10-25T00:40:00Z', 'allow 0,30 2 25 10 * for 5m in Europe/Oslo')).toBe(
      '2027-10-25T00:00:00Z',
    );
    expect(at('2026-10-25T01:20:00Z', 'allow */30 * * * * for 5m in Europe/Oslo')).toBe(
      '2026-10-25T01:30:00Z',
    );
  });

  it.each([
    [
      'Africa/Cairo',
      'deny 0 0 * * 5 for 24h in Africa/Cairo',
      '2026-10-29T22:00:00Z',
      '2026-10-30T22:00:00Z',
    ],
    [
      'America/Santiago',
      'deny 0 0 * * 0 for 24h in America/Santiago',
      '2026-04-05T04:00:00Z',
      '2026-04-06T04:00:00Z',
    ],
    [
      'Asia/Beirut',
      'deny 15 0 25 10 * for 24h in Asia/Beirut',
      '2026-10-24T22:15:00Z',
      '2026-10-25T22:15:00Z',
    ],
    [
      'Australia/Lord_Howe',
      'deny 45 2 * * 0 for 4h in Australia/Lord_Howe',
      '2026-10-03T15:45:00Z',
      '2026-10-03T19:45:00Z',
    ],
  ] as const)(
    'keep to the clocks where these are put back at midnight, or by half an hour: %s',
    (_, text, begins, ends) => {
      const justBefore = (time: string) => new Date(Date.parse(time) - 1_000).toISOString();
      expect(at(justBefore(begins), text)).toBe('open');
      expect(at(begins, text)).toBe(ends);
      expect(at(justBefore(ends), text)).toBe(ends);
    },
  );

  it('come twice in an hour that does, also where it is the last one of a day and the schedule names the day', () => {
    const thursdays: Text = 'deny 0 * * * 4 for 1h in Africa/Cairo';
    expect(at('2026-10-29T20:30:00Z', thursdays)).toBe('2026-10-29T22:00:00Z');
    expect(at('2026-10-29T21:30:00Z', thursdays)).toBe('2026-10-29T22:00:00Z');
    expect(at('2026-10-29T22:00:00Z', thursdays)).toBe('open');
  });

  it('last their duration over midnight and over a change of the clocks', () => {
    const night: Text = 'allow 0 22 * * * for 8h in Europe/Oslo';
    expect(at('2026-11-20T23:30:00Z', night)).toBe('open');
    expect(at('2026-11-21T05:00:00Z', night)).toBe('2026-11-21T21:00:00Z');
    expect(at('2026-03-29T04:59:59Z', night)).toBe('open');
    expect(at('2026-03-29T05:00:00Z', night)).toBe('2026-03-29T20:00:00Z');
  });

  it('that only deny leave the rest of the time open', () => {
    const freeze: Text = 'deny 0 0 20 12 * for 360h';
    expect(at('2026-12-19T23:59:59Z', freeze)).toBe('open');
    expect(at('2026-12-25T12:00:00Z', freeze)).toBe('2027-01-04T00:00:00Z');
  });

  it('that deny win over those that allow', () => {
    const friday: Text = 'deny 0 12 * * 5 for 60h in Europe/Oslo';
    expect(at('2026-11-20T10:59:00Z', office, friday)).toBe('open');
    expect(at('2026-11-20T11:00:00Z', office, friday)).toBe('2026-11-23T07:00:00Z');
    const monday: Text = 'deny 0 7 * * 1 for 3h in Europe/Oslo';
    expect(at('2026-11-20T18:00:00Z', office, friday, monday)).toBe('2026-11-23T09:00:00Z');
  });

  it('open in any of those that allow', () => {
    const lunch: Text = 'allow 0 12 * * * for 1h';
    expect(at('2026-11-21T12:30:00Z', office, lunch)).toBe('open');
    expect(at('2026-11-21T13:00:00Z', office, lunch)).toBe('2026-11-22T12:00:00Z');
  });

  it('that overlap themselves count as one', () => {
    expect(at('2026-11-20T10:59:00Z', 'deny 0 9,10 * * 5 for 90m')).toBe('2026-11-20T11:30:00Z');
  });

  it('that never open say when to look again, later each time, and soon', () => {
    const always: Text = 'deny * * * * * for 90s';
    const effort = measureEffort();
    const again = at('2026-11-20T10:00:00Z', always);
    expect(Date.parse(again)).toBeGreaterThan(Date.parse('2026-11-20T11:00:00Z'));
    expect(Date.parse(at(again, always))).toBeGreaterThan(Date.parse(again));
    expect(effort()).toBeLessThan(500);
  });

  it.each<[string, ...Text[]]>([
    ['years', 'deny 0 0 1 1 * for 8784h'],
    ['months', 'deny 0 0 1 * * for 744h'],
    ['leap days', 'allow 0 8 29 2 * for 9h', 'deny 0 0 29 2 * for 24h'],
  ])(
    'that are closed for longer than a schedule is computed for say when to look again: %s',
    (_, ...texts) => {
      const again = at('2026-11-20T10:00:00Z', ...texts);
      expect(Date.parse(again)).toBeGreaterThan(Date.parse('2027-11-20T10:00:00Z'));
    },
  );

  it('that are many say the sooner when to look again, so that looking takes no longer', () => {
    const often: Text = 'deny * * * * * for 10m';
    const now = '2026-11-20T12:00:30Z';
    const lookedAt = (...texts: Text[]) => Date.parse(at(now, ...texts)) - Date.parse(now);
    expect(lookedAt(often)).toBeGreaterThan(2 * 3_600_000);
    expect(lookedAt(...Array.from({ length: 50 }, () => often))).toBeLessThan(3_600_000);
  });

  it('are no gate where there are none', () => {
    expect(windowAt(undefined, 0)).toBeUndefined();
    expect(windowAt([], 0)).toBeUndefined();
  });
});

describe('what is wrong with windows', () => {
  it.each([
    ['allow 0 8 * * for 1h', 'Too few fields'],
    ['allow 0 0 31 2 * for 1h', 'no date within 8 years fits it'],
    ['allow 0 25 * * * for 1h', 'out of range'],
    ['allow 0 8 * * * for 1h in Europe/Osl', 'Invalid timezone'],
  ] as const)('is told with the field for %s', (text, why) => {
    const [problem, ...others] = windowProblems([window(office), window(text)], 0);
    expect(problem?.path).toBe('spec.windows[1].schedule');
    expect(problem?.message).toContain(why);
    expect(others).toEqual([]);
  });

  it('is nothing where they can be used', () => {
    expect(windowProblems([window(office)], 0)).toEqual([]);
    expect(windowProblems(undefined, 0)).toEqual([]);
  });
});
