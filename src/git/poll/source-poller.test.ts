import { expect, test } from 'vitest';
import type { Clock } from '../../api/clock.ts';
import { createSourcePoller, type PollerOptions } from './source-poller.ts';

/** A clock that moves only by `advance`. */
function manualClock() {
  let nowMs = 0;
  const timers = new Map<object, { atMs: number; callback: () => void }>();
  const clock: Clock = {
    nowMs: () => nowMs,
    after(delayMs, callback) {
      const key = {};
      timers.set(key, { atMs: nowMs + delayMs, callback });
      return () => timers.delete(key);
    },
  };
  async function advance(byMs: number): Promise<void> {
    const end = nowMs + byMs;
    for (;;) {
      await settled();
      const due = [...timers]
        .filter(([, timer]) => timer.atMs <= end)
        .sort(([, a], [, b]) => a.atMs - b.atMs)[0];
      if (!due) break;
      timers.delete(due[0]);
      nowMs = due[1].atMs;
      due[1].callback();
    }
    nowMs = end;
    await settled();
  }
  return { clock, advance, timers };
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function startPoller(options: Partial<PollerOptions> = {}) {
  const time = manualClock();
  const polls: number[] = [];
  const poller = createSourcePoller({
    clock: time.clock,
    random: () => 0.5,
    schedule: { kind: 'interval', intervalMs: 30_000 },
    ...options,
    poll: async (signal) => {
      polls.push(time.clock.nowMs());
      await options.poll?.(signal);
    },
  });
  poller.start();
  return { ...time, polls, poller };
}

test('a wait that is longer than a timer can be is kept', async () => {
  const { clock, advance } = manualClock();
  // As those of the machine, which are over after 25 days.
  const timers: Clock = {
    ...clock,
    after: (delayMs, done) => clock.after(Math.min(delayMs, 2 ** 31 - 1), done),
  };
  const polls: string[] = [];
  const poller = createSourcePoller({
    clock: timers,
    random: () => 0.5,
    schedule: { kind: 'cron', schedule: '0 6 1 * *' },
    poll: async () => void polls.push(new Date(clock.nowMs()).toISOString()),
  });
  poller.start();
  await advance(40 * 86_400_000);
  await poller.stop();
  expect(polls).toEqual(['1970-01-01T00:00:00.000Z', '1970-01-01T06:00:00.000Z', '1970-02-01T06:00:00.000Z']);
});

test('polls immediately and then at each interval', async () => {
  const { advance, polls } = startPoller();
  await advance(61_000);
  expect(polls).toEqual([0, 30_000, 60_000]);
});

test('a wake polls early, and a flood of wakes becomes one poll', async () => {
  const { advance, poller, polls } = startPoller();
  await advance(10_000);
  for (let wake = 0; wake < 100; wake += 1) poller.wake();
  await advance(15_000);
  expect(polls).toEqual([0, 10_000]);
});

test('a wake does not put off the next poll', async () => {
  const { poller, polls, advance } = startPoller();
  await advance(10_000);
  poller.wake();
  await advance(30_000);
  expect(polls).toEqual([0, 10_000, 30_000]);
});

test('wakes during a poll lead to one more poll after it', async () => {
  let finish = () => {};
  let isFirst = true;
  const { advance, poller, polls } = startPoller({
    poll: async () => {
      if (isFirst) await new Promise<void>((resolve) => (finish = resolve));
      isFirst = false;
    },
  });
  await advance(5_000);
  poller.wake();
  poller.wake();
  await advance(5_000);
  expect(polls).toEqual([0]);
  finish();
  await advance(1_000);
  expect(polls).toEqual([0, 10_000]);
});

test('leaves the minimum gap between polls that are woken', async () => {
  const { advance, poller, polls } = startPoller({ minGapMs: 1_000 });
  await advance(200);
  poller.wake();
  await advance(5_000);
  expect(polls).toEqual([0, 1_000]);
});

test('waits longer after each failure up to the cap, and returns to the interval after a success', async () => {
  let isDown = true;
  const { advance, polls } = startPoller({
    random: () => 0,
    retryMs: 5_000,
    maxRetryMs: 15_000,
    poll: () => (isDown ? Promise.reject(new Error('down')) : Promise.resolve()),
  });
  await advance(49_999);
  expect(polls).toEqual([0, 5_000, 15_000, 30_000, 45_000]);
  isDown = false;
  await advance(10_001 + 27_000);
  expect(polls).toEqual([0, 5_000, 15_000, 30_000, 45_000, 60_000, 87_000]);
});

test('a wake ends the wait after a failure', async () => {
  const { advance, poller, polls } = startPoller({
    retryMs: 60_000,
    poll: () => Promise.reject(new Error('down')),
  });
  await advance(2_000);
  poller.wake();
  await advance(1);
  expect(polls).toEqual([0, 2_000]);
});

test('stop aborts the poll under way and leaves no timer', async () => {
  let sawAbort = false;
  const { advance, poller, polls, timers } = startPoller({
    poll: (signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          sawAbort = true;
          resolve();
        }),
      ),
  });
  await advance(1);
  await poller.stop();
  poller.wake();
  await advance(100_000);
  expect({ polls, sawAbort, timers: timers.size }).toEqual({ polls: [0], sawAbort: true, timers: 0 });
});
