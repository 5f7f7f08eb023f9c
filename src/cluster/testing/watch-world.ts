import type { Clock } from '../../api/clock.ts';
import type { Log } from '../../contracts/cluster.ts';
import { type CacheHandle, type Caches, createCaches } from '../caches/caches.ts';
import type { ReflectorTuning } from '../caches/reflector.ts';
import { createDiscovery } from '../client/discovery.ts';
import { createTransport } from '../transport/transport.ts';
import { accessTo } from './scripted-server.ts';
import { type Streaming, startWatchServer, type WatchServer } from './watch-server.ts';

/** A breakable server with five ConfigMaps, and one cache that follows it. */
export interface WatchWorld {
  readonly server: WatchServer;
  readonly caches: Caches;
  readonly cache: CacheHandle;
  /** Name to resourceVersion, as the cache has it. */
  content(): Record<string, string | undefined>;
  /** The cache holds what the server holds. */
  matches(): boolean;
  close(): Promise<void>;
}

/** Starts both; pauses are short unless `tuning` says otherwise. */
export async function startWatchWorld(
  streaming: Streaming,
  more: { clock?: Clock; tuning?: Partial<ReflectorTuning>; logger?: Log } = {},
): Promise<WatchWorld> {
  const server = await startWatchServer();
  server.streaming = streaming;
  for (const name of ['a', 'b', 'c', 'd', 'e']) server.put(name, '1');
  const transport = createTransport({
    access: accessTo(server.http.url),
    userAgent: 'test',
    random: () => 0,
  });
  const caches = createCaches({
    transport,
    discovery: createDiscovery(transport),
    tuning: { backoff: { firstMs: 10, maximumMs: 50 }, initialSilenceMs: 200, ...more.tuning },
    ...(more.clock ? { clock: more.clock } : {}),
    ...(more.logger ? { logger: more.logger } : {}),
  });
  const cache = caches.ensure({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop' });
  const content = () =>
    Object.fromEntries(cache.store.list().map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
  return {
    server,
    caches,
    cache,
    content,
    matches() {
      const held = content();
      const truth = server.truth();
      const names = Object.keys(truth);
      return Object.keys(held).length === names.length && names.every((name) => held[name] === truth[name]);
    },
    async close() {
      await caches.stop();
      await transport.close();
      await server.close();
    },
  };
}
