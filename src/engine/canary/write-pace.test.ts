import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../sandbox/virtual-clock.ts';
import { createWritePace } from './write-pace.ts';

const key = 'shop/web';
const service = { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web-primary' };
const written = { what: 'the Services are written', objects: [service] };

function start() {
  const clock = createVirtualClock();
  const pace = createWritePace(clock);
  /** Whether it may go on after so many writes, `everyMs` apart. */
  const write = (times: number, everyMs: number) => {
    for (let time = 0; time < times; time += 1) {
      if (pace.pauseMs(key) > 0) return false;
      pace.wrote(key, written);
      clock.advance(everyMs);
    }
    return pace.pauseMs(key) === 0;
  };
  return { clock, pace, write };
}

test('a release with intervals of one second is never slowed down', () => {
  const { pace, write } = start();
  const isFree = write(150, 200);
  expect(isFree).toBe(true);
  expect(pace.contention(key)).toBeUndefined();
});

test('what is undone at once is written in bursts five seconds apart, four times a second on the average', () => {
  const { clock, pace, write } = start();
  write(1_000, 10);
  let writes = 0;
  for (const endMs = clock.nowMs() + 60_000; clock.nowMs() < endMs; clock.advance(10)) {
    if (pace.pauseMs(key) > 0) continue;
    pace.wrote(key, written);
    writes += 1;
  }
  expect(writes).toBeGreaterThan(200);
  expect(writes).toBeLessThan(280);
});

test('it is reported until nothing has been written for a while, and then forgotten', () => {
  const { clock, pace, write } = start();
  write(1_000, 10);
  const found = pace.contention(key);
  expect(found?.failure).toMatchObject({
    reason: 'ForeignChange',
    message: expect.stringContaining('(the Services are written); Holdfast now writes every 5 s'),
  });
  clock.advance((found?.endsInMs ?? 0) - 1);
  expect(pace.contention(key)).toBeDefined();
  clock.advance(1);
  expect(pace.contention(key)).toBeUndefined();
});

test('who it is is looked for once, and told with the object', () => {
  const { pace, write } = start();
  write(1_000, 10);
  expect(pace.contention(key)?.unattributed).toEqual([service]);
  pace.attribute(key, 'mesh-operator');
  expect(pace.contention(key)).toMatchObject({
    unattributed: [],
    failure: {
      message: expect.stringMatching(
        /writes to Service shop\/web-primary \(.*\); the last other writer of that is mesh-operator;/,
      ),
    },
  });
});

test('others are not slowed down by it, and it is not after it was deleted', () => {
  const { pace, write } = start();
  write(1_000, 10);
  expect(pace.pauseMs('shop/other')).toBe(0);
  pace.delete(key);
  expect(pace.pauseMs(key)).toBe(0);
});

test('a clock that is set back ends the pause and the report', () => {
  const { pace, write, clock } = start();
  write(1_000, 10);
  expect(pace.pauseMs(key)).toBeGreaterThan(0);
  clock.advance(-3_600_000);
  expect(pace.pauseMs(key)).toBe(0);
  expect(pace.contention(key)).toBeUndefined();
});
