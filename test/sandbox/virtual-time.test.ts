import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../sandbox/virtual-clock.ts';
import {
  type Bed,
  canary,
  createSource,
  deployment,
  failPrimary,
  isNotIdle,
  primaryImage,
  startBed,
  statusOf,
} from './holdfast-bed.ts';

const POLLS = 300;
const QUIET_POLLS = 20;
let bed: Bed;
let clock: VirtualClock;
beforeEach(async () => {
  clock = createVirtualClock();
  bed = await startBed(clock);
});
afterEach(() => bed.close());

/** Lets virtual time pass, with real time in between for requests to be answered, until the look gives something. */
async function pass(what: string, look: () => Promise<boolean>): Promise<void> {
  for (let count = 0; count < 5000; count += 1) {
    if (await look()) return;
    clock.advance(200);
    await sleep(4);
  }
  throw new Error(`${what}: not seen; there is ${JSON.stringify(statusOf(await bed.canary()))}`);
}

async function isPhase(phase: string): Promise<boolean> {
  const status = statusOf(await bed.canary());
  return status.phase === phase && status.run === undefined;
}

test(`a rejected commit at head is polled ${POLLS} times and nothing is written or fetched (S13, S14)`, async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed, { interval: '10s' });
  await bed.start();
  await pass('v1 initialized', () => isPhase('Initialized'));
  failPrimary(bed, 'shop/web:2');
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await pass('v2 reverted', () => isPhase('Failed'));
  // Until nothing of the end is left to write: for twenty polls, since on a busy machine no time of the wall is enough for one.
  for (let since = bed.git.requests(); bed.git.requests() - since < 2 * QUIET_POLLS; ) {
    bed.sandbox.requests.clear();
    clock.advance(1000);
    await sleep(4);
    if (bed.sandbox.requests.all().some(isNotIdle)) since = bed.git.requests();
  }
  const before = JSON.stringify(statusOf(await bed.canary()));
  bed.sandbox.requests.clear();
  const requests = bed.git.requests();

  const startedMs = clock.nowMs();
  while (bed.git.requests() - requests < 2 * POLLS) {
    clock.advance(5000);
    await sleep(2);
  }

  expect(clock.nowMs() - startedMs).toBeGreaterThanOrEqual(POLLS * 8000);
  expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);
  expect(JSON.stringify(statusOf(await bed.canary()))).toBe(before);
  expect(await primaryImage(bed)).toBe('shop/web:1');
  // Each poll starts two processes of Git.
});
