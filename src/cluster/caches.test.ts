import { describe, expect, it } from 'vitest';
import { startWatchWorld } from './testing/watch-world.ts';

describe('caches', () => {
  it('show an own write in the caches that select it, and in no other', async () => {
    const world = await startWatchWorld('served');
    try {
      const elsewhere = world.caches.ensure({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'elsewhere' });
      const labelled = world.caches.ensure({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        namespace: 'shop',
        labelSelector: 'app=x',
      });
      await Promise.all([world.cache.synced(), elsewhere.synced(), labelled.synced()]);
      world.server.mute(true);
      world.caches.observe(world.server.put('own', '1'));
      expect(world.cache.store.get('shop', 'own')).toMatchObject({ data: { value: '1' } });
      expect(elsewhere.store.get('shop', 'own')).toBeUndefined();
      expect(labelled.store.get('shop', 'own')).toBeUndefined();
      expect(world.caches.health().map(({ selection }) => selection.namespace)).toEqual([
        'shop',
        'elsewhere',
        'shop',
      ]);
    } finally {
      await world.close();
    }
  });

  it('refuse a label selector that cannot be read', async () => {
    const world = await startWatchWorld('served');
    try {
      const selection = { apiVersion: 'v1', kind: 'Pod', labelSelector: 'a in b' };
      expect(() => world.caches.ensure(selection)).toThrow(/label selector/);
    } finally {
      await world.close();
    }
  });
});
