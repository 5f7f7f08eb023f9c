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
  expect([streams.hasPlace('alice'), streams.hasPlace('bob')]).toEqual([false, true]);
  for (const { response } of readers) response.emit('close');
  expect(streams.hasPlace('alice')).toBe(true);
  await pass(clock, 1_000);
  const before = looks;
  await pass(clock, 10_000);
  expect(looks).toBe(before);
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
