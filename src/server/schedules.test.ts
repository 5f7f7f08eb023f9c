import { expect, test } from 'vitest';
import type { Source } from '../api/source/source.ts';
import { createVirtualClock } from '../engine/virtual-clock.test-support.ts';
import { createOpenPoller, openDrillSchedule } from './schedules.ts';

async function pollsWithin(ms: number, spec: Partial<Source['spec']>): Promise<number[]> {
  const clock = createVirtualClock(0);
  const polls: number[] = [];
  const source = { metadata: { name: 'shop', namespace: 'shop' }, spec } as Source;
  const poller = createOpenPoller(clock, () => 0)(source, async () => {
    polls.push(clock.nowMs());
    throw new Error('Git does not answer');
  });
  poller.start();
  await clock.advance(ms);
  await poller.stop();
  return polls;
}

test('what failed is tried again after seconds, and then less and less often, up to once a minute', async () => {
  const polls = await pollsWithin(300_000, { interval: '60s' });
  expect(polls.slice(0, 7)).toEqual([0, 5_000, 15_000, 35_000, 75_000, 135_000, 195_000]);
});

test('a retryInterval is used as it is', async () => {
  const polls = await pollsWithin(61_000, { interval: '60s', retryInterval: '20s' });
  expect(polls).toEqual([0, 20_000, 40_000, 60_000]);
});

test('drills come at the times of the calendar, also where the clock of the machine was set after the start', async () => {
  const steady = createVirtualClock(Date.UTC(2026, 0, 1));
  let aheadMs = 0;
  const clock = { ...steady, calendarMs: () => steady.nowMs() + aheadMs };
  const rounds: string[] = [];
  const canaries = () => {
    rounds.push(new Date(clock.calendarMs()).toISOString().slice(11, 16));
    return [];
  };
  const parts = { clock, canaries } as unknown as Parameters<typeof openDrillSchedule>[1];
  aheadMs = 3 * 3_600_000;
  const drills = openDrillSchedule('0 4 * * *', parts);
  drills?.start();
  await steady.advance(2 * 3_600_000);
  expect(rounds).toEqual(['04:00']);
  aheadMs = 0;
  await steady.advance(50 * 3_600_000);
  expect(rounds).toEqual(['04:00', '04:00', '04:00']);
  await drills?.stop();
});
