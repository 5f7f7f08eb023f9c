import { expect, it } from 'vitest';
import { canaryDocument } from '../../../test/documents/builders.ts';
import { systemClock } from '../../api/clock.ts';
import type { RequestClient } from './request.ts';
import { waitFor } from './wait.ts';

it('of a release that failed under Flagger it says what the condition says', async () => {
  const message = 'Canary analysis failed, Deployment scaled to zero.';
  const conditions = [{ type: 'Promoted', status: 'False', reason: 'Failed', message }];
  const canary = canaryDocument({}, { name: 'web', namespace: 'shop' });
  const client = {
    get: async () => ({ ...canary, status: { phase: 'Failed', conditions } }),
  } as unknown as RequestClient;
  const options = {
    namespace: 'shop',
    name: 'web',
    commit: undefined,
    timeoutMs: 1,
    format: 'text',
  } as const;

  expect(await waitFor(client, systemClock, options)).toMatchObject({
    exitCode: 1,
    stdout: `Canary shop/web: Failed: ${message}\n`,
  });
});
