import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Connection } from '../../server/connection.ts';
import { readCanaries } from './read-canaries.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A cluster that lists Canaries, and answers nothing else. */
function silentCluster(...names: string[]): Connection {
  const items = names.map((name) => ({
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { namespace: 'shop', name },
  }));
  const handle = {
    synced: () => new Promise(() => undefined),
    health: () => ({ synced: false, refused: false, failures: 1, lastError: 'list deployments: 503' }),
    store: { get: () => undefined, list: () => [], subscribe: () => () => undefined },
    release: async () => undefined,
  };
  return {
    client: { list: async () => ({ items }), get: async () => undefined },
    caches: { ensure: () => handle, observe: () => undefined, stop: async () => undefined },
  } as unknown as Connection;
}

it('says that it is not known whether Flagger runs, and waits for that once for all Canaries', async () => {
  const options = {
    minIntervalMs: 0,
    defaultProvider: 'kubernetes',
    selectorLabels: [],
    includeLabelPrefixes: [],
  };
  const query = { watchNamespaces: [], ownNamespace: 'holdfast-system', tracksConfig: true, options };
  const reading = readCanaries(silentCluster('a', 'b', 'c'), query);
  await vi.advanceTimersByTimeAsync(20_000);

  const seen = await Promise.race([reading, Promise.resolve(undefined)]);
  expect(seen?.map(({ foreignController }) => foreignController)).toEqual(
    ['a', 'b', 'c'].map(() => 'it is not known whether Flagger runs (list deployments: 503)'),
  );
});
