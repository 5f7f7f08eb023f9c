import { expect, it } from 'vitest';
import { switchGate } from './gate.ts';
import type { RequestClient } from './request.ts';

it.each([
  ['gate', 'http://holdfast.holdfast-system/gate/check', ''],
  [
    'gate',
    'http://gates.example.com/shop',
    'note: no webhook of Canary shop/web asks /gate/check, so that this changes nothing; holdfast approve -n shop canary/web opens the gate that a release waits at\n',
  ],
  [
    'rollback-gate',
    'http://holdfast.holdfast-system/gate/check',
    'note: no webhook of Canary shop/web asks /rollback/check, so that this changes nothing; holdfast abort -n shop canary/web ends the release under way\n',
  ],
] as const)(
  'opening the %s of a Canary with a webhook to %s says whether anybody asks it',
  async (gate, url, note) => {
    const webhooks = [{ name: 'gate', type: 'confirm-promotion', url }];
    const client = {
      get: async () => ({
        apiVersion: 'flagger.app/v1beta1',
        kind: 'Canary',
        metadata: { namespace: 'shop', name: 'web' },
        spec: { analysis: { webhooks } },
      }),
      patch: async () => undefined,
    } as unknown as RequestClient;
    const asked = { namespace: 'shop', name: 'web', gate, format: 'text' } as const;

    expect(await switchGate(client, { ...asked, action: 'open' })).toMatchObject({
      stderr: note,
      exitCode: 0,
    });
    expect(await switchGate(client, { ...asked, action: 'status' })).toMatchObject({ stderr: '' });
  },
);
