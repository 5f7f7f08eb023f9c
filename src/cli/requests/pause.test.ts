import { expect, it } from 'vitest';
import { setPause } from './pause.ts';
import type { RequestClient } from './request.ts';

/** What `holdfast resume` says of a Canary with this spec. */
async function resumed(spec: object) {
  const metadata = { name: 'web', namespace: 'shop', annotations: { 'holdfast.dev/pause': 'true' } };
  const canary = { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, spec };
  const client = { get: async () => canary, patch: async () => canary } as unknown as RequestClient;
  return setPause(client, { namespace: 'shop', name: 'web', paused: false, format: 'text' });
}

it('a Canary that is resumed and suspended as well is not said to go on', async () => {
  expect(await resumed({})).toMatchObject({ stdout: 'Canary shop/web: resumed\n', stderr: '' });
  expect(await resumed({ suspend: true })).toMatchObject({
    stderr:
      'note: spec.suspend of the Canary is true, so Holdfast does nothing for it; set it to false where the manifest of the Canary is\n',
  });
});
