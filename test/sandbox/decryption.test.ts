import { afterEach, beforeEach, expect, test } from 'vitest';
import { sealedSecret, testKey } from '../../src/render/sops/sealed.test-support.ts';
import { type Bed, condition, createSource, eventually, startBed, statusOf } from './holdfast-bed.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startBed();
});
afterEach(() => bed.close());

const decryption = { secretRef: { name: 'sops-age' } };

function putKey() {
  const data = { 'prod.agekey': Buffer.from(testKey).toString('base64') };
  const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'sops-age' }, data };
  const path = '/api/v1/namespaces/shop/secrets/sops-age?fieldManager=test&force=true';
  return bed.send('PATCH', path, object, 'application/apply-patch+yaml');
}

function ready(reason: string): Promise<string> {
  return eventually(
    reason,
    async () => {
      const found = condition(await bed.source(), 'Ready');
      return found?.reason === reason && found.message;
    },
    { seen: async () => statusOf(await bed.source()) },
  );
}

test('a Secret is applied as it was encrypted, once the key is there', async () => {
  await bed.commit('first', { 'secret.yaml': sealedSecret });
  await createSource(bed, { decryption });
  await bed.start();
  expect(await ready('DecryptionKeyNotFound')).toContain('spec.decryption: there is no Secret shop/sops-age');
  await putKey();
  const applied = await eventually('the Secret', () => bed.get('v1', 'Secret', 'keys'));
  expect(JSON.stringify(applied)).toMatch(/hunter2|aHVudGVyMg==/);
  expect(JSON.stringify(applied)).not.toContain('ENC[');
});

test('without spec.decryption, and with a wrong MAC, nothing is applied and nothing is shown', async () => {
  await putKey();
  await bed.commit('first', { 'secret.yaml': sealedSecret.replace('name: keys', 'name: other') });
  await createSource(bed, { decryption });
  await bed.start();
  expect(await ready('InvalidManifests')).toContain('secret.yaml: was changed after SOPS encrypted it');
  expect(await bed.get('v1', 'Secret', 'other')).toBeUndefined();
  expect(JSON.stringify(await bed.source())).not.toContain('hunter2');
});
