import { expect, it } from 'vitest';
import { systemClock } from '../../api/clock.ts';
import { createVirtualClock } from '../../engine/virtual-clock.test-support.ts';
import { ended, type RequestClient } from './request.ts';
import { beginSync } from './sync.ts';

it('a suspended Source is not asked to fetch, since it would not', async () => {
  const asked: unknown[] = [];
  const client = {
    get: async () => ({
      apiVersion: 'holdfast.dev/v1alpha1',
      kind: 'Source',
      metadata: { namespace: 'shop', name: 'apps' },
      spec: { suspend: true },
    }),
    patch: async (...request: unknown[]) => asked.push(request),
  } as unknown as RequestClient;
  const options = { namespace: 'shop', name: 'apps', timeoutMs: 60_000 } as const;

  const text = await beginSync(client, systemClock, { ...options, format: 'text' });
  const json = await beginSync(client, systemClock, { ...options, format: 'json' });

  expect(text).toEqual({
    stdout: '',
    stderr:
      'Source shop/apps: refused (Suspended): nothing is fetched until holdfast resume -n shop source/apps\n',
    exitCode: 1,
  });
  expect(JSON.parse((json as { stdout: string }).stdout)).toMatchObject({
    kind: 'Error',
    reason: 'Suspended',
  });
  expect(asked).toEqual([]);
});

it('of a Source whose spec is refused, what is wrong with it is told in place of whether Holdfast runs', async () => {
  const condition = {
    type: 'Ready',
    status: 'False',
    reason: 'InvalidSpec',
    message: 'spec.schedule: no cron',
  };
  const client = {
    get: async () => ({
      apiVersion: 'holdfast.dev/v1alpha1',
      kind: 'Source',
      metadata: { namespace: 'shop', name: 'apps' },
      spec: {},
      status: { conditions: [condition] },
    }),
    patch: async () => undefined,
  } as unknown as RequestClient;
  const clock = createVirtualClock();

  const begun = await beginSync(client, clock, {
    namespace: 'shop',
    name: 'apps',
    timeoutMs: 60_000,
    format: 'text',
  });
  const answer = ended(begun);
  await clock.advance(60_000);

  expect(await answer).toMatchObject({
    stderr: 'Source shop/apps: no fetch from Git yet; its spec is refused: spec.schedule: no cron\n',
    exitCode: 4,
  });
});

it('a fetch that somebody asked for a moment later is one for this request, which it replaced', async () => {
  const source = {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { namespace: 'shop', name: 'apps', annotations: {} },
    spec: {},
    status: {},
  };
  const client = {
    get: async () => source,
    async patch() {
      source.metadata.annotations = { 'holdfast.dev/sync': 'now@later' };
    },
  } as unknown as RequestClient;
  const clock = createVirtualClock();
  const conditions = [{ type: 'Ready', status: 'True', reason: 'Applied', message: 'applied' }];
  clock.after(5_000, () => {
    source.status = { handled: { sync: 'now@later' }, conditions };
  });

  const options = { namespace: 'shop', name: 'apps', timeoutMs: 60_000, format: 'text' } as const;
  const answer = ended(await beginSync(client, clock, options));
  await clock.advance(60_000);

  expect(await answer).toMatchObject({ exitCode: 0, stderr: '' });
});
