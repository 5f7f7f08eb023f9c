import { expect, it } from 'vitest';
import type { Canary } from '../../../api/canary/canary.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import { recordAnnotations, recordLabels, recordName } from '../../../release/record.ts';
import type { ReadContext } from '../context/observation.ts';
import { bytesOf, observeRecords } from './releases.ts';

const name = { namespace: 'shop', name: 'web' };

function record(digest: string, sequence: number): KubernetesObject {
  const annotations = {
    [recordAnnotations.digest]: digest,
    [recordAnnotations.parts]: '1',
    [recordAnnotations.sequence]: String(sequence),
    [recordAnnotations.promotedTime]: '2026-11-21T12:00:00Z',
  };
  const metadata = { name: recordName(name, digest), namespace: 'shop', labels: recordLabels('web') };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, annotations } };
}

it('reads no more records of a Canary than it needs, whoever made them, and the last-known-good among them', async () => {
  const made = Array.from({ length: 500 }, (_, index) => record(`v1:made-${index}`, index + 2));
  const good = 'v1:good';
  const secrets = [...made, record(good, 1)];
  const read: string[] = [];
  const records = {
    async problemOf(_: unknown, digest: string) {
      read.push(digest);
      return undefined;
    },
  };
  const lastKnownGood = { digest: good, commit: '', promotedTime: '', record: recordName(name, good) };
  const canary = { metadata: name, status: { lastKnownGood } } as unknown as Canary;
  const view = { records: () => secrets, unread: () => undefined };

  const found = await observeRecords(
    { records, lostRecords: {} } as unknown as Parameters<typeof observeRecords>[0],
    canary,
    view,
  );

  expect(read.length).toBeLessThan(30);
  expect(found.records.map(({ digest }) => digest)).toEqual(expect.arrayContaining([good, 'v1:made-499']));
});

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

it('a release under way keeps the commit that introduced it, also where Git is read for the first time while it is written', async () => {
  const digest = `v1:${'a'.repeat(64)}`;
  const [introduced, newest] = ['1'.repeat(40), '2'.repeat(40)];
  const target = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: name, spec: {} };
  const read = { digest, commit: { commit: newest, subject: '', author: '', time: '' }, target, configs: [] };
  const context = {
    parts: { heads: { of: () => ({ release: read }) } },
    observation: {
      canary: { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata: name },
      world: {
        records: [],
        head: { kind: 'unknown', reason: 'SourceNotRead', message: '' },
        status: { run: { digest, commit: introduced } },
      },
    },
  };

  const { release } = await bytesOf(context as unknown as ReadContext, digest);

  expect(release.commit.commit).toBe(introduced);
});
