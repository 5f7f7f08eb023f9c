import { EventEmitter } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../sandbox/virtual-clock.ts';
import { createStreams, StreamEnd } from './streams.ts';

/** A reader that takes everything, until it is stuck. */
function reader() {
  const taken: string[] = [];
  const response = Object.assign(new EventEmitter(), {
    writableLength: 0,
    write: (text: string) => taken.push(text),
    end: () => response.emit('close'),
    destroy: () => response.emit('close'),
  });
  return { taken, response, as: response as unknown as ServerResponse };
}

async function pass(clock: ReturnType<typeof createVirtualClock>, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 500) {
    clock.advance(500);
    await setImmediate();
  }
}

test('events are sent as they come, with heartbeats in between, and an end is reported', async () => {
  const clock = createVirtualClock();
  const streams = createStreams(clock, () => undefined);
  const events: Array<{ event: string; data: unknown }> = [{ event: 'fleet', data: 1 }];
  let isOver = false;
  let isClosed = false;
  const { taken, as } = reader();
  const feed = {
    async next() {
      if (isOver) throw new StreamEnd('You are logged out.');
      return events.splice(0);
    },
    close: () => {
      isClosed = true;
    },
  };
  streams.open('alice', feed, as);
  await pass(clock, 1_000);
  expect(taken).toEqual(['event: fleet\ndata: 1\n\n']);
  await pass(clock, 16_000);
  expect(taken.slice(1)).toEqual([':\n\n']);
  isOver = true;
  await pass(clock, 1_000);
  expect(taken.at(-1)).toBe('event: end\ndata: {"message":"You are logged out."}\n\n');
  expect(isClosed).toBe(true);
});

test('a stream ends without a word after five minutes, so that a login proxy is asked again', async () => {
  const clock = createVirtualClock();
  const streams = createStreams(clock, () => undefined);
  let isClosed = false;
  const { taken, as } = reader();
  const feed = {
    next: async () => [],
    close: () => {
      isClosed = true;
    },
  };
  streams.open('alice', feed, as);
  await pass(clock, 299_000);
  const before = isClosed;
  await pass(clock, 1_500);

  expect([before, isClosed]).toEqual([false, true]);
  expect(new Set(taken)).toEqual(new Set([':\n\n']));
});

test('a slow reader gets the newest state after it has read, and one that is stuck is disconnected', async () => {
  const clock = createVirtualClock();
  const streams = createStreams(clock, () => undefined);
  let looks = 0;
  const { taken, response, as } = reader();
  const feed = {
    async next() {
      looks += 1;
      return [{ event: 'fleet', data: looks }];
    },
    close: () => undefined,
  };
  streams.open('alice', feed, as);
  await pass(clock, 500);
  response.writableLength = 2 * 1024 * 1024;
  const before = looks;
  await pass(clock, 30_000);
  expect(looks).toBe(before);
  response.writableLength = 0;
  await pass(clock, 1_000);
  expect(taken.at(-1)).toContain(`data: ${looks}`);
  response.writableLength = 2 * 1024 * 1024;
  const closed = new Promise((resolve) => response.once('close', resolve));
  await pass(clock, 62_000);
  await closed;
});

test('one person has eight places, and nothing runs once all are closed', async () => {
  const clock = createVirtualClock();
  const streams = createStreams(clock, () => undefined);
  let looks = 0;
  const feed = {
    async next() {
      looks += 1;
      return [];
    },
    close: () => undefined,
  };
  const readers = Array.from({ length: 8 }, reader);
  for (const { as } of readers) streams.open('alice', feed, as);
  expect([streams.makePlace('alice'), streams.makePlace('bob')]).toEqual([false, true]);
  for (const { response } of readers) response.emit('close');
  expect(streams.makePlace('alice')).toBe(true);
  await pass(clock, 1_000);
  const before = looks;
  await pass(clock, 10_000);
  expect(looks).toBe(before);
});

test('the service accounts of one namespace, which may be any number, cannot take all places of others', async () => {
  const clock = createVirtualClock();
  const streams = createStreams(clock, () => undefined);
  const feed = { next: async () => [], close: () => undefined };
  const accounts = Array.from({ length: 16 }, (_, index) => `system:serviceaccount:shop:a${index}`);
  const open = (user: string) => {
    if (!streams.makePlace(user)) return undefined;
    const page = reader();
    streams.open(user, feed, page.as);
    return page;
  };
  const theirs = accounts.flatMap((user) => Array.from({ length: 8 }, () => open(user)));
  const people = Array.from({ length: 10 }, (_, index) => `person-${index}`);

  const pages = people.flatMap((user) => Array.from({ length: 8 }, () => open(user)));
  const isOpenAgain = accounts.map((user) => open(user) !== undefined);

  const isLeft = (page: ReturnType<typeof reader> | undefined) => page?.taken.length === 0;
  expect(pages.filter(isLeft)).toHaveLength(80);
  expect(theirs.filter(isLeft)).toHaveLength(48);
  expect(theirs[0]?.taken.join()).toContain('too many pages');
  expect(isOpenAgain).not.toContain(true);
});

test('a page that takes nothing gives its place at once, and is told once', async () => {
  const clock = createVirtualClock();
  const streams = createStreams(clock, () => undefined);
  let answer: () => void = () => undefined;
  const looked = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const feed = {
    next: async () => {
      await looked;
      return [{ event: 'fleet', data: 1 }];
    },
    close: () => undefined,
  };
  const pages = Array.from({ length: 128 }, (_, index) => {
    const page = reader();
    // Its end has not come through yet.
    Object.assign(page.response, { writableLength: 1_000, end: () => undefined });
    streams.open(`system:serviceaccount:shop:a${index}`, feed, page.as);
    return page;
  });

  for (const user of ['alice', 'bob', 'carol']) {
    expect(streams.makePlace(user)).toBe(true);
    streams.open(user, feed, reader().as);
  }
  // They were being looked for.
  answer();
  await pass(clock, 1_000);

  const told = pages.filter(({ taken }) => taken[0]?.startsWith('event: end'));
  expect(told.map(({ taken }) => taken.length)).toEqual([1, 1, 1]);
});

test('a page that was left before its stream began takes no place, and is not looked for', async () => {
  const clock = createVirtualClock();
  const streams = createStreams(clock, () => undefined);
  let closed = 0;
  let looks = 0;
  const feed = {
    async next() {
      looks += 1;
      return [];
    },
    close: () => {
      closed += 1;
    },
  };
  const left = new Promise<void>((resolve, reject) => {
    const server = createServer((_, response) => {
      // Who it is was still being asked.
      response.on('close', () => {
        streams.open('alice', feed, response);
        server.close();
        resolve();
      });
      client.destroy();
    });
    const client = new Socket();
    client.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      client.connect(port, '127.0.0.1', () => client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
    });
  });

  await left;
  const before = looks;
  await pass(clock, 10_000);

  expect([looks, closed]).toEqual([before, 1]);
});

test('a stream that ends while its reader takes nothing says so once, and is disconnected in the end', async () => {
  const clock = createVirtualClock();
  const streams = createStreams(clock, () => undefined);
  const { taken, response, as } = reader();
  // What is left to send keeps the response open.
  Object.assign(response, { writableLength: 1_000, end: () => taken.push('(ended)') });
  const feed = {
    async next(): Promise<never> {
      throw new StreamEnd('You are logged out.');
    },
    close: () => undefined,
  };
  const closed = new Promise((resolve) => response.once('close', resolve));

  streams.open('alice', feed, as);
  await pass(clock, 62_000);
  await closed;

  expect(taken).toEqual(['event: end\ndata: {"message":"You are logged out."}\n\n', '(ended)']);
});
