import { expect, it } from 'vitest';
import { systemClock } from '../../api/clock.ts';
import type { RequestClient } from './request.ts';
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
