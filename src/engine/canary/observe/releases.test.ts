import { expect, it } from 'vitest';
import type { ReadContext } from '../context/observation.ts';
import { bytesOf } from './releases.ts';

it('where the Secrets with releases cannot be read, says so, and not that a release is in none of them', async () => {
  const asked = (unread: string | undefined) => {
    const metadata = { namespace: 'shop', name: 'web' };
    const canary = { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata };
    const context = {
      parts: { heads: { of: () => ({}) }, lostRecords: { of: () => undefined } },
      observation: { canary, world: { records: [] }, view: { unread: () => unread } },
    };
    return bytesOf(context as unknown as ReadContext, 'v1:0123456789abcdef');
  };
  const found =
    'Canary shop/web: the manifests of release v1:0123456789ab are neither at head nor in a record';
  await expect(asked(undefined)).rejects.toThrow(new RegExp(`${found}$`));
  await expect(asked('watch secrets in shop: 403 Forbidden')).rejects.toThrow(
    'Canary shop/web: release v1:0123456789ab is not at head, and records cannot be read: watch secrets in shop: 403 Forbidden',
  );
});
