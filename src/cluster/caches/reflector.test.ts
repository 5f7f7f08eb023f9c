import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../testing/manual-clock.ts';
import { answer, failure } from '../testing/scripted-server.ts';
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

describe.each(['served', 'refused', 'ignored'] as const)('reflector, streamed lists %s', (streaming) => {
  it('holds the whole state and follows changes', async () => {
    const world = await start(streaming);
    await world.cache.synced();
    expect(world.matches()).toBe(true);
    world.server.put('f', '1');
    world.server.put('a', '2');
    world.server.remove('b');
    await eventually(() => world.matches(), 'the changes arrive');
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
      await eventually(() => world.matches(), 'what was missed arrives');
      expect(world.server.lists()).toBe(lists);
      expect(world.cache.health().states).toBe(1);
    },
  );

  it('reads the whole state again on request, including lost events, and not twice in a row', async () => {
    const world = await start(streaming);
    await world.cache.synced();
    world.server.mute(true);
    world.server.put('a', '2');
    world.server.remove('e');
    world.server.mute(false);
    expect(await world.cache.refresh(60_000)).toBe(false);
    expect(world.matches()).toBe(false);

    expect(await Promise.all([world.cache.refresh(0), world.cache.refresh(0)])).toEqual([true, true]);

    expect(world.matches()).toBe(true);
    expect(world.cache.health()).toMatchObject({ states: 2, failures: 0, lastError: '' });
    world.server.put('b', '2');
    await eventually(() => world.matches(), 'changes arrive as before');
  });

  it('takes the whole state again when its version is too old (410 as an event)', async () => {
    const world = await start(streaming);
    await world.cache.synced();
    world.server.mute(true);
    world.server.put('a', '2');
    world.server.remove('e');
    world.server.compact();
    world.server.mute(false);
    world.server.cut('reset');
    await eventually(() => world.matches(), 'the state is taken again');
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
    await eventually(() => world.matches(), 'healed');
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
    await eventually(() => world.matches(), 'recovered');
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
      return world.matches();
    }, 'the hidden object is found');
    expect(world.cache.health().states).toBeGreaterThan(1);
  });

  it('continues from the same version after an internal ERROR event', async () => {
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
      return world.matches();
    }, 'resumed');
    expect(world.cache.health().states).toBe(1);
  });

  it('is stopped by its last user only, and then makes no more requests', async () => {
    const world = await start('served');
    const second = world.caches.ensure({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop' });
    await second.synced();
    expect(second.store).toBe(world.cache.store);
    await second.release();
    await second.release();
    world.server.put('f', '1');
    await eventually(() => world.matches(), 'still following');
    await world.cache.release();
    expect(world.caches.health()).toEqual([]);
    const requests = world.server.http.seen.length;
    world.server.cut('reset');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(world.server.http.seen.length).toBe(requests);
  });
});
