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

it('a gate that Git sets is not switched past Git, which would set it back: the command says who sets it', async () => {
  const patched: unknown[] = [];
  const fieldsV1 = { 'f:metadata': { 'f:annotations': { 'f:holdfast.dev/gate': {} } } };
  const client = {
    get: async () => ({
      apiVersion: 'flagger.app/v1beta1',
      kind: 'Canary',
      metadata: {
        namespace: 'shop',
        name: 'web',
        annotations: { 'holdfast.dev/gate': 'closed' },
        managedFields: [{ manager: 'holdfast', operation: 'Apply', fieldsV1 }],
      },
      spec: {},
    }),
    patch: async (...request: unknown[]) => patched.push(request),
  } as unknown as RequestClient;
  const asked = { namespace: 'shop', name: 'web', format: 'text', action: 'open' } as const;

  await expect(switchGate(client, { ...asked, gate: 'gate' })).rejects.toThrow(
    'Canary shop/web: metadata.annotations.holdfast.dev/gate is set by holdfast, which would set it back; change it there',
  );
  expect(patched).toEqual([]);
  await switchGate(client, { ...asked, gate: 'rollback-gate' });
  expect(patched).toHaveLength(1);
});
