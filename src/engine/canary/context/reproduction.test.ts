import { expect, it } from 'vitest';
import type { Canary } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import type { Condition } from '../../../api/kubernetes.ts';
import type { Release } from '../../../release/release.ts';
import type { HeadView } from '../../../rollout/world.ts';
import { createVirtualClock } from '../../virtual-clock.test-support.ts';
import { createAfterRevert, type Reproduced, reproducedCondition } from './reproduction.ts';

const key = 'shop/web';
const good = 'a'.repeat(40);
const stamps = { lastTransitionTime: '2026-01-01T00:00:00Z', lastUpdateTime: '2026-01-01T00:00:00Z' };
const reverted: Condition = {
  type: 'Reverted',
  status: 'True',
  reason: 'ChecksFailed',
  message: '',
  ...stamps,
};
const status: CanaryStatus = {
  phase: 'Failed',
  lastKnownGood: { commit: good, digest: 'v1:a', promotedTime: stamps.lastUpdateTime, record: 'r' },
  conditions: [reverted],
};

function world(commit: string | undefined, told: CanaryStatus = {}) {
  const release = { digest: 'v1:b', commit: { commit: commit ?? '', subject: '', author: '', time: '' } };
  const head: HeadView =
    commit === undefined
      ? { kind: 'unknown', reason: 'RenderFailed', message: 'broken' }
      : { kind: 'release', release: { ...release, settingsKey: '', replicas: 1, mountsConfig: false } };
  const canary = { metadata: { namespace: 'shop', name: 'web' }, status: told } as unknown as Canary;
  return { canary, head };
}

/** Comparisons that end when they are told to, each with this list. */
function start() {
  const waiting: Array<(answer: Reproduced) => void> = [];
  const done: string[] = [];
  const reproduce = () => new Promise<Reproduced>((resolve) => waiting.push(resolve));
  const clock = createVirtualClock();
  const after = createAfterRevert(reproduce, (canaryKey) => done.push(canaryKey), clock);
  const answer = async (index: number, answered: Reproduced) => {
    waiting[index]?.(answered);
    await Promise.resolve();
    await Promise.resolve();
  };
  return { after, waiting, done, answer, clock };
}

function same(...others: string[]): Reproduced {
  return { digest: 'v1:a', release: {} as Release, others };
}

it('compares once per commit at head, however often it is looked at', async () => {
  const { after, waiting, done, answer } = start();
  for (let poll = 0; poll < 1000; poll += 1) after.compareOnce(world('b1'), status);
  await answer(0, same('ConfigMap shop/other'));
  for (let poll = 0; poll < 1000; poll += 1) after.compareOnce(world('b1'), status);

  expect(waiting.length).toBe(1);
  expect(done).toEqual([key]);
  expect(after.othersOf(key, status)).toEqual(['ConfigMap shop/other']);
});

it('compares again when head moves, and an answer for an older head is left out', async () => {
  const { after, answer } = start();
  after.compareOnce(world('b1'), status);
  after.compareOnce(world('b2'), status);
  await answer(1, same('ConfigMap shop/new'));
  await answer(0, same('ConfigMap shop/old'));

  expect(after.othersOf(key, status)).toEqual(['ConfigMap shop/new']);
});

it('keeps what was told when it cannot be compared again, and while head cannot be read', async () => {
  const { after, waiting, answer } = start();
  const told = { conditions: [{ ...reverted, type: reproducedCondition }] };
  after.compareOnce(world(undefined, told), status);
  expect(waiting.length).toBe(0);
  after.compareOnce(world('b1', told), status);
  await answer(0, { problem: 'Git is down' });

  expect(after.conditionOf(key, status)).toBeUndefined();
  expect(after.othersOf(key, status)).toBeUndefined();
});

it('says that it could not be compared where nothing was told before', async () => {
  const { after, answer } = start();
  after.compareOnce(world('b1'), status);
  await answer(0, { problem: 'Git is down' });

  expect(after.conditionOf(key, status)).toMatchObject({ status: 'Unknown', reason: 'CommitUnavailable' });
});

it('compares again when the Source moves on, although the release at head stays', async () => {
  const { after, waiting, answer } = start();
  after.compareOnce(world('b1'), status, 'c1');
  await answer(0, same('ConfigMap shop/old'));
  after.compareOnce(world('b1'), status, 'c1');
  expect(waiting.length).toBe(1);
  after.compareOnce(world('b1'), status, 'c2');
  await answer(1, same());

  expect(after.othersOf(key, status)).toEqual([]);
});

it('compares again while Git is away, with growing pauses, and gives a commit that is gone up', async () => {
  const { after, waiting, answer, clock } = start();
  after.compareOnce(world('b1'), status);
  await answer(0, { problem: 'Git is down' });
  expect(after.conditionOf(key, status)).toMatchObject({ reason: 'CommitUnavailable' });
  await clock.advance(60_000);
  await answer(1, same());
  expect(after.conditionOf(key, status)).toMatchObject({ reason: 'SameDigest' });

  after.compareOnce(world('b2'), status);
  for (let hour = 0; hour < 24; hour += 1) {
    await answer(waiting.length - 1, { problem: 'it is gone' });
    await clock.advance(3_600_000);
  }
  expect(waiting.length).toBe(2 + 6);
});
