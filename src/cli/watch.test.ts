import { expect, it, vi } from 'vitest';
import { systemClock } from '../api/clock.ts';
import { glyphsFor } from '../terminal/timeline/rows.ts';
import { createWatchTimeline } from './watch.ts';
import { type WatchEvent, watchOne } from './watch-canary.ts';

it('the times of a watch are those of Events and logs, wherever it runs', () => {
  vi.stubEnv('TZ', 'Asia/Tokyo');
  const look = { screen: { columns: 80, colour: false }, glyphs: glyphsFor({}), timeColumns: 9 };
  const event = { canary: 'shop/web', time: '2026-11-01T10:02:03.456Z', type: 'deleted' } as const;

  const lines = createWatchTimeline(look).lines(event);

  vi.unstubAllEnvs();
  expect(lines.join('\n')).toContain('10:02:03Z  deleted');
});

it('a Canary without a spec, which the CRD lets in, is watched all the same', async () => {
  const status = { phase: '', message: 'spec.targetRef: is missing' };
  const metadata = { namespace: 'shop', name: 'web' };
  const canary = { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, status };
  const handle = {
    store: { subscribe: (hear: (type: string, object: object) => void) => hear('added', canary) },
    health: () => ({ failures: 0 }),
    release: async () => undefined,
  };
  const client = { get: async () => canary };
  const connection = { client, caches: { ensure: () => handle } } as unknown as Parameters<
    typeof watchOne
  >[0];
  const stopping = new AbortController();
  const events: WatchEvent[] = [];

  const watched = watchOne(connection, systemClock, { ...metadata, signal: stopping.signal }, (event) =>
    events.push(event),
  );
  setImmediate(() => stopping.abort(new Error('interrupted')));

  await expect(watched).rejects.toThrow('interrupted');
  expect(events.at(-1)).toMatchObject({ type: 'state', message: 'spec.targetRef: is missing' });
});

it('a watch that is interrupted while the Canary is read ends all the same', async () => {
  const stopping = new AbortController();
  const canary = { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata: {} };
  const client = {
    async get() {
      stopping.abort(new Error('interrupted'));
      return canary;
    },
  };
  const handle = {
    store: { subscribe: () => undefined },
    health: () => ({ failures: 0 }),
    release: async () => undefined,
  };
  const connection = { client, caches: { ensure: () => handle } } as unknown as Parameters<
    typeof watchOne
  >[0];
  const options = { namespace: 'shop', name: 'web', signal: stopping.signal };

  await expect(watchOne(connection, systemClock, options, () => undefined)).rejects.toThrow('interrupted');
});
