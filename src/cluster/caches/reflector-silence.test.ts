import { afterEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../log.ts';
import { createManualClock, eventually } from '../testing/manual-clock.ts';
import { startWatchWorld, type WatchWorld } from '../testing/watch-world.ts';

const worlds: WatchWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

async function start(...parameters: Parameters<typeof startWatchWorld>): Promise<WatchWorld> {
  const world = await startWatchWorld(...parameters);
  worlds.push(world);
  return world;
}

describe('reflector and a server that says too little', () => {
  it('takes the whole state again when the versions of the server went back', async () => {
    const world = await start('refused');
    await world.cache.synced();
    await eventually(() => world.server.watches() >= 2, 'watching');
    const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '3' } } };
    await eventually(() => {
      world.server.inject(`${JSON.stringify(bookmark)}\n`);
      return world.cache.health().states === 2;
    }, 'the state is taken again');
    expect(world.matches()).toBe(true);
  });

  it('takes the whole state again when two connections in a row say nothing', async () => {
    const clock = createManualClock();
    const world = await start('served', { clock });
    await world.cache.synced();
    world.server.fault('watch', 2, (response) => response.writeHead(200).flushHeaders());
    world.server.cut('end');
    for (const watches of [2, 3]) {
      await eventually(() => {
        clock.advance(10);
        return world.cache.health().watches === watches;
      }, 'a watch is opened');
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(world.cache.health().states).toBe(1);
      clock.advance(65_000);
    }
    await eventually(() => {
      clock.advance(10);
      return world.cache.health().states === 2;
    }, 'the state is taken again');
  });

  it('notices a dead watch by its silence and heals, and bookmarks keep a quiet one alive', async () => {
    const clock = createManualClock();
    const world = await start('served', { clock });
    await world.cache.synced();
    world.server.put('f', '1');
    await eventually(() => world.matches(), 'watching');
    for (let minute = 0; minute < 3; minute += 1) {
      const before = world.cache.health().lastContactMs;
      clock.advance(61_000);
      world.server.bookmark();
      await eventually(() => world.cache.health().lastContactMs > before, 'the bookmark arrives');
    }
    expect(world.server.watches()).toBe(1);
    world.server.mute(true);
    world.server.put('g', '1');
    clock.advance(64_000);
    expect(world.cache.health().healthy).toBe(true);
    clock.advance(1_000);
    expect(world.cache.health().healthy).toBe(false);
    world.server.mute(false);
    await eventually(() => {
      clock.advance(100);
      return world.matches();
    }, 'what the dead watch hid arrives');
    expect(world.cache.health()).toMatchObject({ healthy: true, states: 1 });
  });

  it('says nothing about a watch that is quiet since nothing happens, and says it when the server is gone', async () => {
    const clock = createManualClock();
    const warnings: unknown[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) };
    const world = await start('served', { clock, logger });
    await world.cache.synced();
    for (const watches of [2, 3, 4]) {
      clock.advance(65_000);
      await eventually(() => {
        clock.advance(10);
        return world.cache.health().watches === watches && world.cache.health().healthy;
      }, 'the watch is reopened');
    }
    expect(warnings).toEqual([]);
    world.server.fault('watch', 2, (response) => void response.writeHead(500).end('{}'));
    clock.advance(65_000);
    await eventually(() => {
      clock.advance(10);
      return warnings.length > 0;
    }, 'the refusal is logged');
    expect(warnings[0]).toMatchObject({ kind: 'ConfigMap', namespace: 'shop' });
  });

  it('warns once of a watch that is refused again and again for the same reason, and anew after it had answered', async () => {
    const clock = createManualClock();
    const warnings: unknown[] = [];
    const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) };
    const world = await start('served', { clock, logger });
    await world.cache.synced();
    let refused = 0;
    const refuse = () =>
      world.server.fault('watch', 5, (response) => {
        refused += 1;
        response.writeHead(403).end('{}');
      });
    const answeredAfter = async (count: number) => {
      await eventually(() => {
        clock.advance(1_000);
        return refused === count && world.cache.health().healthy && !world.cache.health().refused;
      }, 'the watch is open again');
    };
    refuse();
    world.server.cut('end');
    await answeredAfter(5);
    expect(warnings.filter((one) => /403/.test(JSON.stringify(one)))).toHaveLength(1);
    refuse();
    world.server.cut('end');
    await answeredAfter(10);
    expect(warnings.filter((one) => /403/.test(JSON.stringify(one)))).toHaveLength(2);
  });

  it('finds an event that never came by taking the whole state now and then', async () => {
    const clock = createManualClock();
    const world = await start('served', { clock, tuning: { relistAfterMs: 1000, silenceMs: 1e9 } });
    await world.cache.synced();
    world.server.mute(true);
    world.server.put('f', '1');
    world.server.mute(false);
    world.server.put('g', '1');
    await eventually(() => world.content().g !== undefined, 'the later event arrives');
    expect(world.matches()).toBe(false);
    clock.advance(1200);
    world.server.cut('end');
    await eventually(() => {
      clock.advance(100);
      return world.matches();
    }, 'the lost event is healed');
  });

  it('backs off while the server ends every watch immediately', async () => {
    const clock = createManualClock();
    const world = await start('refused', { clock, tuning: { backoff: { firstMs: 500, maximumMs: 30_000 } } });
    await world.cache.synced();
    world.server.fault('watch', 1e9, (response) => void response.writeHead(200).end());
    world.server.cut('end');
    const attempts: number[] = [];
    for (let second = 0; second < 120; second += 1) {
      clock.advance(1000);
      await new Promise((resolve) => setTimeout(resolve, 5));
      attempts.push(world.server.watches());
    }
    const total = (attempts.at(-1) ?? 0) - (attempts[0] ?? 0);
    expect(total).toBeGreaterThan(2);
    expect(total).toBeLessThan(15);
  });
});
