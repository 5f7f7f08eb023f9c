import { Writable } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { createLog, createSteadyClock } from './process.ts';

afterEach(() => vi.useRealTimers());

test('setting the system time moves no deadline, and the calendar follows it', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-01-01T00:00:00Z') });
  const { nowMs, calendarMs } = createSteadyClock();
  vi.setSystemTime(Date.parse('2026-03-01T12:00:00Z'));
  expect(nowMs()).toBeLessThan(Date.parse('2026-01-01T01:00:00Z'));
  expect(calendarMs?.()).toBe(Date.parse('2026-03-01T12:00:00Z'));
});

test('a terminal gets a readable line, written before the call returns', async () => {
  const lines: string[] = [];
  const terminal = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const log = await createLog('info', Object.assign(terminal, { isTTY: true }) as never);
  log.info({ url: 'http://127.0.0.1:8080' }, 'Holdfast is starting');
  expect(lines.join('')).toMatch(/INFO.*Holdfast is starting[\s\S]*url: "http:\/\/127\.0\.0\.1:8080"/);
});
