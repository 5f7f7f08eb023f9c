import { expect, test } from 'vitest';
import type { Source } from '../api/source/source.ts';
import { createVirtualClock } from '../engine/virtual-clock.test-support.ts';
import { createOpenPoller } from './schedules.ts';

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
