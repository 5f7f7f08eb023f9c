import type { Registry } from 'prom-client';
import { gauge } from './gauge.ts';

/** What the Git stores take of the disk. */
export interface StoreSizes {
  readonly stores: number;
  readonly packs: number;
  readonly bytes: number;
  /** When one was made smaller last, in milliseconds since the epoch; undefined: none was since the start. */
  readonly compactedMs: number | undefined;
}

/** Gauges of the Git stores; without series while this copy has none. */
export function addStoreMetrics(registry: Registry, sizes: () => StoreSizes | undefined): void {
  const add = (name: string, help: string, of: (sizes: StoreSizes) => number | undefined) =>
    gauge(registry, `holdfast_git_${name}`, help, (metric) => {
      const now = sizes();
      const value = now && of(now);
      if (value === undefined) metric.remove();
      else metric.set(value);
    });
  add('stores', 'Repositories kept on disk', ({ stores }) => stores);
  add('store_packs', 'Packs in them', ({ packs }) => packs);
  add('store_bytes', 'Bytes of these packs', ({ bytes }) => bytes);
  add('store_compacted_timestamp_seconds', 'When one of them was made smaller last', ({ compactedMs }) =>
    compactedMs === undefined ? undefined : compactedMs / 1000,
  );
}
