import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createDiscovery } from '../client/discovery.ts';
import { eventually } from '../testing/manual-clock.ts';
import { accessTo, answer, failure } from '../testing/scripted-server.ts';
import { startWatchServer, type WatchServer } from '../testing/watch-server.ts';
import { createTransport } from '../transport/transport.ts';
import { createCaches } from './caches.ts';

type Step =
  | { do: 'put' | 'write'; name: string; value: string }
  | { do: 'remove'; name: string }
  | { do: 'hide'; name: string; value: string }
  | { do: 'reset' | 'end' | 'compact' | 'bookmark' | 'garbage' | 'failList' | 'failWatch' | 'settle' };

const name = fc.constantFrom('a', 'b', 'c', 'd');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constantFrom('put' as const, 'write' as const), name, value: fc.string() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hide' as const), name, value: fc.string() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'reset',
        'end',
        'compact',
        'bookmark',
        'garbage',
        'failList',
        'failWatch',
        'settle',
      ),
    }) as fc.Arbitrary<Step>,
  },
);

/** Plays one step. `write` is our own write, whose answer reaches the cache before the watch does. */
async function play(
  server: WatchServer,
  observe: (object: ReturnType<WatchServer['put']>) => void,
  step: Step,
): Promise<void> {
  switch (step.do) {
    case 'put':
      return void server.put(step.name, step.value);
    case 'write':
      return observe(server.put(step.name, step.value));
    case 'remove':
      return server.remove(step.name);
    case 'hide':
      // Never sent: the connection that hid it breaks, so the next one delivers it.
      server.mute(true);
      server.put(step.name, step.value);
      server.mute(false);
      return server.cut('reset');
    case 'reset':
    case 'end':
      return server.cut(step.do);
    case 'compact':
      return server.compact();
    case 'bookmark':
      return server.bookmark();
    case 'garbage':
      return server.inject('{"type":\n');
    case 'failList':
      return server.fault('list', 5, (response) =>
        answer(response, 500, failure(500, 'InternalError', 'no')),
      );
    case 'failWatch':
      return server.fault('watch', 1, (response) => void response.socket?.destroy());
    case 'settle':
      return new Promise((resolve) => setTimeout(resolve, 5));
  }
}

it.each(['served', 'refused'] as const)(
  'a store equals the server after any run of changes, cuts, lies and failures (streamed lists %s)',
  async (streaming) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const server = await startWatchServer();
        server.streaming = streaming;
        const rate = { perSecond: 1e6, burst: 1e6 };
        const backoff = { firstMs: 1, maximumMs: 4 };
        const transport = createTransport({
          access: accessTo(server.http.url),
          userAgent: 'test',
          random: () => 0,
          rate,
          retry: backoff,
        });
        const caches = createCaches({
          transport,
          discovery: createDiscovery(transport),
          tuning: { backoff },
        });
        try {
          const { store } = caches.ensure({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop' });
          // A copy that is built from notifications of subscribers must equal the store.
          const notified = new Map<string, string | undefined>();
          store.subscribe((type, { metadata }) => {
            if (type === 'deleted') notified.delete(metadata.name);
            else notified.set(metadata.name, metadata.resourceVersion);
          });
          for (const each of steps) await play(server, (object) => caches.observe(object), each);
          const held = () =>
            Object.fromEntries(store.list().map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
          const sorted = (record: object) => JSON.stringify(Object.entries(record).sort());
          await eventually(() => sorted(held()) === sorted(server.truth()), 'the store equals the server');
          expect(sorted(Object.fromEntries(notified))).toBe(sorted(held()));
        } finally {
          await caches.stop();
          await transport.close();
          await server.close();
        }
      }),
      { numRuns: Number(process.env.HOLDFAST_PROPERTY_RUNS ?? 10) },
    );
  },
);
