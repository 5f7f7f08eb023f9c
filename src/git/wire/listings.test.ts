import { expect, test } from 'vitest';
import { GitError } from '../errors.ts';
import { createListings } from './listings.ts';

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);

/** A repository whose head the test moves, on a clock that the test moves. */
function aRepository() {
  const now = { ms: 1_000_000, head: first, isDown: false, pauseMs: 0, looks: 0 };
  const clock = {
    nowMs: () => now.ms,
    after(_delayMs: number, callback: () => void) {
      callback();
      return () => undefined;
    },
  };
  const listings = createListings(clock);
  const look = async () => {
    now.looks += 1;
    const { head, isDown, pauseMs } = now;
    await Promise.resolve();
    if (isDown) throw new GitError('Unreachable', 'the server is down', undefined, pauseMs);
    return { commit: head, want: head, refName: 'refs/heads/main', candidates: [] };
  };
  const ask = { key: 'main', maxAgeMs: 25_000, retryMs: 5_000, maxRetryMs: 60_000, look };
  const resolve = (signal?: AbortSignal, notBeforeMs = 0) =>
    listings.resolve({ ...ask, notBeforeMs }, signal).then(({ commit }) => commit);
  return { now, listings, resolve };
}

test('a thousand concurrent callers share one request, and later ones use its answer while it is recent', async () => {
  const { now, resolve } = aRepository();
  await Promise.all(Array.from({ length: 1_000 }, () => resolve()));
  now.ms += 24_000;
  await resolve();
  expect(now.looks).toBe(1);
  now.ms += 2_000;
  await resolve();
  expect(now.looks).toBe(2);
});

test('a change that one of them finds wakes all that follow the reference', async () => {
  const { now, listings, resolve } = aRepository();
  let woken = 0;
  const end = listings.onNews('main', () => {
    woken += 1;
  });
  listings.onNews('other', () => expect.fail('it follows another reference'));
  await resolve();
  now.head = second;
  listings.expire();
  expect(await resolve()).toBe(second);
  expect(woken).toBe(1);
  end();
  now.head = first;
  listings.expire();
  await resolve();
  expect(woken).toBe(1);
});

test('a change that is announced during a request causes another one', async () => {
  const { now, listings, resolve } = aRepository();
  const early = resolve();
  now.head = second;
  listings.expire();
  expect([await early, await resolve()]).toEqual([first, second]);
});

test('all callers share a failure, one of them retries it, and its end wakes the others', async () => {
  const { now, listings, resolve } = aRepository();
  let woken = 0;
  listings.onNews('main', () => {
    woken += 1;
  });
  now.isDown = true;
  await expect(resolve()).rejects.toMatchObject({ code: 'Unreachable' });
  now.ms += 3_000;
  await expect(resolve()).rejects.toMatchObject({ code: 'Unreachable' });
  expect(now.looks).toBe(1);
  now.ms += 2_000;
  await expect(resolve()).rejects.toMatchObject({ code: 'Unreachable' });
  now.ms += 5_000;
  await expect(resolve()).rejects.toMatchObject({ code: 'Unreachable' });
  expect(now.looks).toBe(2);
  now.ms += 5_000;
  now.isDown = false;
  await resolve();
  expect(woken).toBe(1);
});

test('a server that asks for a pause is asked again after it, or when a push was announced', async () => {
  const { now, listings, resolve } = aRepository();
  Object.assign(now, { isDown: true, pauseMs: 120_000 });
  await expect(resolve()).rejects.toMatchObject({ code: 'Unreachable' });
  now.ms += 119_000;
  await expect(resolve()).rejects.toMatchObject({ code: 'Unreachable' });
  expect(now.looks).toBe(1);
  now.ms += 1_000;
  await expect(resolve()).rejects.toMatchObject({ code: 'Unreachable' });
  expect(now.looks).toBe(2);
  now.isDown = false;
  listings.expire();
  expect(await resolve()).toBe(first);
});

test('a new caller needs a request that began after it', async () => {
  const { now, resolve } = aRepository();
  const early = resolve();
  now.ms += 1;
  now.head = second;
  const since = now.ms;
  expect([await early, await resolve(undefined, since)]).toEqual([first, second]);
  now.ms += 1;
  expect([await resolve(undefined, since), now.looks]).toEqual([second, 2]);
  await resolve(undefined, now.ms);
  expect(now.looks).toBe(3);
});

test('a caller that aborts does not end the request of the others', async () => {
  const { resolve } = aRepository();
  const abort = new AbortController();
  const given = resolve(abort.signal);
  const other = resolve();
  abort.abort();
  await expect(given).rejects.toMatchObject({ code: 'Aborted' });
  expect(await other).toBe(first);
});
