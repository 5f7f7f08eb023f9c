import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../api/clock.ts';
import { type CacheHandle, type Caches, createCaches } from './caches.ts';
import { createDiscovery } from './discovery.ts';
import type { ReflectorTuning } from './reflector.ts';
import { createManualClock, eventually } from './testing/manual-clock.ts';
import { accessTo, answer, failure } from './testing/scripted-server.ts';
import { startWatchServer, type WatchServer } from './testing/watch-server.ts';
import { createTransport } from './transport.ts';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const quick: Partial<ReflectorTuning> = { backoff: { firstMs: 10, maximumMs: 50 }, initialSilenceMs: 200 };

interface World {
  readonly server: WatchServer;
  readonly caches: Caches;
  readonly cache: CacheHandle;
}

async function start(
  streaming: WatchServer['streaming'],
  more: { clock?: Clock; tuning?: Partial<ReflectorTuning> } = {},
): Promise<World> {
  const server = await startWatchServer();
  server.streaming = streaming;
  for (const name of ['a', 'b', 'c', 'd', 'e']) server.put(name, '1');
  const transport = createTransport({
    access: accessTo(server.http.url),
    userAgent: 'test',
    random: () => 0,
  });
  const { clock } = more;
  const caches = createCaches({
    transport,
    discovery: createDiscovery(transport),
    tuning: { ...quick, ...more.tuning },
    ...(clock ? { clock } : {}),
  });
  cleanups.push(
    () => server.close(),
    () => transport.close(),
    () => caches.stop(),
  );
  const cache = caches.ensure({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop' });
  return { server, caches, cache };
}

function content({ cache }: World): Record<string, string | undefined> {
  return Object.fromEntries(
    cache.store.list().map(({ metadata }) => [metadata.name, metadata.resourceVersion]),
  );
}

function matches(world: World): boolean {
  const held = content(world);
  const truth = world.server.truth();
  return (
    Object.keys(held).length === Object.keys(truth).length &&
    Object.keys(truth).every((name) => held[name] === truth[name])
  );
}

describe.each(['served', 'refused', 'ignored'] as const)('reflector, streamed lists %s', (streaming) => {
  it('holds the whole state and follows changes', async () => {
    const world = await start(streaming);
    await world.cache.synced();
    expect(matches(world)).toBe(true);
    world.server.put('f', '1');
    world.server.put('a', '2');
    world.server.remove('b');
    await eventually(() => matches(world), 'the changes arrive');
    expect(world.cache.health()).toMatchObject({ synced: true, healthy: true, lastError: '' });
    expect(world.cache.store.get('shop', 'a')).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      data: { value: '2' },
    });
    expect(world.cache.store.get('shop', 'a')?.metadata).not.toHaveProperty('managedFields');
  });

  it.each(['reset', 'end'] as const)(
    'resumes where it was after a %s, without listing again',
    async (how) => {
      const world = await start(streaming);
      await world.cache.synced();
      const lists = world.server.lists();
      await eventually(() => world.cache.health().states === 1, 'first state');
      world.server.cut(how);
      world.server.put('f', '1');
      world.server.remove('c');
      await eventually(() => matches(world), 'what was missed arrives');
      expect(world.server.lists()).toBe(lists);
      expect(world.cache.health().states).toBe(1);
    },
  );

  it('takes the whole state again when its version is too old (410 as an event)', async () => {
    const world = await start(streaming);
    await world.cache.synced();
    world.server.mute(true);
    world.server.put('a', '2');
    world.server.remove('e');
    world.server.compact();
    world.server.mute(false);
    world.server.cut('reset');
    await eventually(() => matches(world), 'the state is taken again');
    expect(world.cache.health().states).toBe(2);
  });
});

describe('reflector', () => {
  it('takes the whole state again when 410 comes as an HTTP status', async () => {
    const world = await start('refused');
    await world.cache.synced();
    world.server.fault('watch', 1, (response) => answer(response, 410, failure(410, 'Expired', 'too old')));
    world.server.mute(true);
    world.server.remove('a');
    world.server.mute(false);
    world.server.cut('end');
    await eventually(() => matches(world), 'healed');
    expect(world.cache.health().states).toBe(2);
  });

  it('survives failing lists after 410 and recovers when the server does', async () => {
    const world = await start('refused');
    await world.cache.synced();
    // Each list is tried four times by the transport before the reflector hears of it.
    world.server.fault('list', 6, (response) =>
      answer(response, 500, failure(500, 'InternalError', 'etcd is down')),
    );
    world.server.compact();
    world.server.put('g', '1');
    world.server.cut('reset');
    await eventually(
      () => world.cache.health().lastError.includes('etcd is down'),
      'the failure is reported',
    );
    expect(world.cache.store.list()).toHaveLength(5);
    await eventually(() => matches(world), 'recovered');
  });

  it.each([
    ['no JSON', '{"type":"ADDED","obj\n'],
    ['no object', '{"type":"MODIFIED","object":null}\n'],
    ['an unknown type', '{"type":"NEWS","object":{}}\n'],
    ['a bookmark without a version', '{"type":"BOOKMARK","object":{"metadata":{}}}\n'],
  ])('takes the whole state again after a line with %s', async (_, text) => {
    const world = await start('refused');
    await world.cache.synced();
    await eventually(() => world.server.watches() >= 2, 'watching');
    world.server.mute(true);
    world.server.put('hidden', '1');
    world.server.mute(false);
    await eventually(() => {
      world.server.inject(text);
      return matches(world);
    }, 'the hidden object is found');
    expect(world.cache.health().states).toBeGreaterThan(1);
  });

  it('takes the whole state again when the versions of the server went back', async () => {
    const world = await start('refused');
    await world.cache.synced();
    await eventually(() => world.server.watches() >= 2, 'watching');
    const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '3' } } };
    await eventually(() => {
      world.server.inject(`${JSON.stringify(bookmark)}\n`);
      return world.cache.health().states === 2;
    }, 'the state is taken again');
    expect(matches(world)).toBe(true);
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

  it('goes on from the same version after an internal ERROR event', async () => {
    const world = await start('refused');
    await world.cache.synced();
    await eventually(() => world.server.watches() >= 2, 'watching');
    world.server.mute(true);
    world.server.put('f', '1');
    world.server.mute(false);
    await eventually(() => {
      world.server.inject(
        `${JSON.stringify({ type: 'ERROR', object: failure(500, 'InternalError', 'oops') })}\n`,
      );
      return matches(world);
    }, 'resumed');
    expect(world.cache.health().states).toBe(1);
  });

  it('notices a dead watch by its silence and heals, and bookmarks keep a quiet one alive', async () => {
    const clock = createManualClock();
    const world = await start('served', { clock });
    await world.cache.synced();
    world.server.put('f', '1');
    await eventually(() => matches(world), 'watching');
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
      return matches(world);
    }, 'what the dead watch hid arrives');
    expect(world.cache.health()).toMatchObject({ healthy: true, states: 1 });
  });

  it('finds an event that never came by taking the whole state now and then', async () => {
    const clock = createManualClock();
    const world = await start('served', { clock, tuning: { relistAfterMs: 1000, silenceMs: 1e9 } });
    await world.cache.synced();
    world.server.mute(true);
    world.server.put('f', '1');
    world.server.mute(false);
    world.server.put('g', '1');
    await eventually(() => content(world).g !== undefined, 'the later event arrives');
    expect(matches(world)).toBe(false);
    clock.advance(1200);
    world.server.cut('end');
    await eventually(() => {
      clock.advance(100);
      return matches(world);
    }, 'the lost event is healed');
  });

  it('pauses longer and longer while the server ends every watch at once', async () => {
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

  it('is stopped by its last user only, and then makes no more requests', async () => {
    const world = await start('served');
    const second = world.caches.ensure({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop' });
    await second.synced();
    expect(second.store).toBe(world.cache.store);
    await second.release();
    await second.release();
    world.server.put('f', '1');
    await eventually(() => matches(world), 'still following');
    await world.cache.release();
    expect(world.caches.health()).toEqual([]);
    const requests = world.server.http.seen.length;
    world.server.cut('reset');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(world.server.http.seen.length).toBe(requests);
  });
});
