import { expect, test } from 'vitest';
import { createVirtualClock, settle } from './virtual-clock.test-support.ts';
import { createWorkQueue, type PassResult, type WorkQueue } from './work-queue.ts';

interface Bed {
  readonly clock: ReturnType<typeof createVirtualClock>;
  readonly started: string[];
  readonly queue: WorkQueue;
  readonly errors: number[];
  /** The pass over the key looks at the world. */
  look(key: string): void;
  finish(key: string, result?: PassResult | Error): Promise<void>;
}

function bed(concurrency = 2, perNamespace?: number): Bed {
  const clock = createVirtualClock();
  const started: string[] = [];
  const errors: number[] = [];
  const open = new Map<string, (result: PassResult | Error) => void>();
  const looking = new Map<string, () => void>();
  const queue = createWorkQueue({
    clock,
    concurrency,
    ...(perNamespace === undefined ? {} : { perNamespace }),
    random: () => 1,
    backoff: { firstMs: 100, maximumMs: 1_000 },
    onError: (_key, _error, retryAfterMs) => errors.push(retryAfterMs),
    pass: (key, looks) => {
      started.push(key);
      looking.set(key, looks);
      return new Promise((resolve, reject) => {
        open.set(key, (result) => (result instanceof Error ? reject(result) : resolve(result)));
      });
    },
  });
  return {
    clock,
    started,
    errors,
    queue,
    look: (key) => looking.get(key)?.(),
    async finish(key, result = { againAfterMs: undefined }) {
      await settle();
      open.get(key)?.(result);
      await settle();
    },
  };
}

test('works on a key once at a time and once more when asked meanwhile', async () => {
  const { queue, started, finish } = bed();
  queue.add('a');
  await settle();
  queue.add('a');
  queue.add('a');
  await settle();
  expect(started).toEqual(['a']);
  await finish('a');
  expect(started).toEqual(['a', 'a']);
  await finish('a');
  expect(started).toEqual(['a', 'a']);
});

test('what asked for a key before its pass looked is answered by that, and what asks afterwards gets a pass', async () => {
  const { queue, started, clock, look, finish } = bed();
  queue.add('a');
  await settle();
  queue.add('a');
  queue.addAfter('a', 20);
  look('a');
  await finish('a');
  await clock.advance(1_000);
  expect(started).toEqual(['a']);

  queue.add('a');
  await settle();
  look('a');
  queue.addAfter('a', 20);
  await finish('a');
  expect(started).toEqual(['a', 'a']);
  await clock.advance(20);
  expect(started).toEqual(['a', 'a', 'a']);
});

test('keeps to the concurrency and serves keys in the order they came', async () => {
  const { queue, started, finish } = bed(2);
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
  await settle();
  expect(started).toEqual(['a', 'b']);
  queue.add('a');
  await finish('a');
  await finish('b');
  expect(started).toEqual(['a', 'b', 'c', 'd']);
  await finish('c');
  expect(started).toEqual(['a', 'b', 'c', 'd', 'a']);
});

test('backs off on errors up to the cap and forgets failures after a success', async () => {
  const { queue, clock, errors, finish } = bed();
  queue.add('a');
  for (let attempt = 0; attempt < 6; attempt += 1) {
    await finish('a', new Error('no'));
    await clock.advance(1_000);
  }
  expect(errors).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  await finish('a');
  queue.add('a');
  await finish('a', new Error('no'));
  expect(errors.at(-1)).toBe(100);
});

test('runs again after the time a pass asked for, or earlier when asked', async () => {
  const { queue, clock, started, finish } = bed();
  queue.add('a');
  await finish('a', { againAfterMs: 500 });
  await clock.advance(499);
  expect(started).toHaveLength(1);
  await clock.advance(1);
  expect(started).toHaveLength(2);
  await finish('a', { againAfterMs: 500 });
  queue.addAfter('a', 50);
  await clock.advance(50);
  expect(started).toHaveLength(3);
  await finish('a');
  await clock.advance(10_000);
  expect(started).toHaveLength(3);
});

test('stop waits for the pass under way and starts nothing more', async () => {
  const { queue, clock, started, finish } = bed(1);
  queue.add('a');
  queue.add('b');
  await settle();
  let stopped = false;
  const stopping = queue.stop().then(() => {
    stopped = true;
  });
  await settle();
  expect(stopped).toBe(false);
  await finish('a', { againAfterMs: 1 });
  await stopping;
  await clock.advance(1_000);
  expect(started).toEqual(['a']);
});

test('a pass that could not do everything comes back with back-off, or earlier where it says so', async () => {
  const { queue, started, finish, errors, clock } = bed();
  const failure = new Error('refused');
  queue.add('a');
  await finish('a', { againAfterMs: undefined, failure });
  expect(errors).toEqual([100]);
  await clock.advance(100);
  await finish('a', { againAfterMs: 20, failure });
  expect(errors).toEqual([100, 20]);
  await clock.advance(20);
  expect(started).toEqual(['a', 'a', 'a']);
  await finish('a');
  queue.add('a');
  await finish('a', { againAfterMs: undefined, failure });
  expect(errors).toEqual([100, 20, 100]);
});

test('those of one namespace that hang hold up no other', async () => {
  const { queue, started, finish } = bed(4, 1);
  for (const key of ['a/1', 'a/2', 'a/3', 'b/1', 'c/1', 'c/2']) queue.add(key);
  await settle();
  expect(started).toEqual(['a/1', 'b/1', 'c/1']);
  await finish('c/1');
  queue.add('b/2');
  await finish('b/1');
  expect(started).toEqual(['a/1', 'b/1', 'c/1', 'c/2', 'b/2']);
  await finish('a/1');
  expect(started.at(-1)).toBe('a/2');
});

test('many keys of one namespace keep no key of another waiting for all of them', async () => {
  const { queue, started, finish } = bed(2);
  for (let index = 1; index <= 50; index += 1) queue.add(`a/${index}`);
  await settle();
  queue.add('b/1');
  queue.add('b/2');
  await finish('a/1');
  expect(started).toEqual(['a/1', 'a/2', 'b/1']);
  await finish('a/2');
  await finish('b/1');
  expect(started).toEqual(['a/1', 'a/2', 'b/1', 'a/3', 'b/2']);
});
