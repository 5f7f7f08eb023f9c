import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../sandbox/virtual-clock.ts';
import { createWritePace, type Written } from './write-pace.ts';

const key = 'shop/web';
const service = { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web-primary' };
const services: Written = { type: 'EnsureServices', what: 'the Services are written', objects: [service] };
const traffic: Written = { type: 'SetTraffic', what: 'traffic: 50 %', objects: [] };

function start() {
  const clock = createVirtualClock();
  const pace = createWritePace(clock);
  const isPaused = ({ type }: Written, of = key) => pace.pause(of).types.has(type);
  /** How many of so many writes, `everyMs` apart, it lets through. */
  const write = (times: number, everyMs: number, written = services) => {
    let writes = 0;
    for (let time = 0; time < times; time += 1) {
      if (!isPaused(written)) {
        pace.wrote(key, [written]);
        writes += 1;
      }
      clock.advance(everyMs);
    }
    return writes;
  };
  return { clock, pace, write, isPaused };
}

test('a release with intervals of one second is never slowed down', () => {
  const { pace, write } = start();
  const writes = write(1_000, 1_000, traffic);
  expect(writes).toBe(1_000);
  expect(pace.contention(key)).toBeUndefined();
});

test('what is undone at once is written in bursts five seconds apart, once a second on the average', () => {
  const { write } = start();
  write(1_000, 10);
  const writes = write(6_000, 10);
  expect(writes).toBeGreaterThan(50);
  expect(writes).toBeLessThan(75);
});

test('what nobody undoes is written meanwhile', () => {
  const { pace, isPaused, write } = start();
  write(1_000, 10);
  expect(isPaused(services)).toBe(true);
  expect(isPaused(traffic)).toBe(false);
  const { endsInMs = 0 } = pace.pause(key);
  expect(endsInMs).toBeGreaterThan(0);
  expect(endsInMs).toBeLessThanOrEqual(5_000);
});

test('it is reported until nothing has been written for a while, and then forgotten', () => {
  const { clock, pace, write } = start();
  write(1_000, 10);
  const found = pace.contention(key);
  expect(found?.failure).toMatchObject({
    reason: 'ForeignChange',
    message: expect.stringContaining('(the Services are written); Holdfast now writes it every 5 s'),
  });
  clock.advance((found?.endsInMs ?? 0) - 1);
  expect(pace.contention(key)).toBeDefined();
  clock.advance(1);
  expect(pace.contention(key)).toBeUndefined();
});

test('two that are undone are both told, since the first of them', () => {
  const { clock, pace, write } = start();
  write(120, 1);
  const firstMs = clock.nowMs();
  write(120, 1, traffic);
  const { failure, sinceMs = 0 } = pace.contention(key) ?? {};
  expect(failure?.message).toMatch(/the Services are written.*traffic: 50 %/);
  expect(sinceMs).toBeLessThan(firstMs);
});

test('who it is is looked for once, and told with the object', () => {
  const { pace, write } = start();
  write(1_000, 10);
  expect(pace.contention(key)?.unattributed).toMatchObject([services]);
  pace.attribute(key, services.type, 'mesh-operator');
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
  const { pace, write, isPaused } = start();
  write(1_000, 10);
  expect(isPaused(services, 'shop/other')).toBe(false);
  pace.delete(key);
  expect(isPaused(services)).toBe(false);
});

test('a clock that is set back ends the pause and the report', () => {
  const { pace, write, clock, isPaused } = start();
  write(1_000, 10);
  expect(isPaused(services)).toBe(true);
  clock.advance(-3_600_000);
  expect(isPaused(services)).toBe(false);
  expect(pace.contention(key)).toBeUndefined();
});
