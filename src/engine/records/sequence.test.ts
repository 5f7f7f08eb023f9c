import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { recordAnnotations, recordLabels, recordName } from '../../release/record.ts';
import type { Cluster } from '../ports/ports.ts';
import { createRecords, recordViews } from './records.ts';

const canary = { namespace: 'shop', name: 'web' };

/** The first Secret of a record, as two leaders with different clocks left it. */
function secret(digest: string, promotedTime: string, sequence: string | undefined): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: recordName(canary, digest),
      namespace: 'shop',
      labels: recordLabels('web'),
      annotations: {
        [recordAnnotations.digest]: digest,
        [recordAnnotations.parts]: '1',
        [recordAnnotations.promotedTime]: promotedTime,
        ...(sequence === undefined ? {} : { [recordAnnotations.sequence]: sequence }),
      },
    },
  };
}

const secrets = [
  secret('v1:a', '2099-01-01T00:00:00Z', '7'),
  secret('v1:b', '2026-01-01T00:00:00Z', undefined),
  secret('v1:c', '2026-01-01T00:00:00Z', 'soon'),
];

test('the number of a record is read from its annotation, and nothing else is taken for one', () => {
  expect(recordViews(secrets, canary).map(({ sequence }) => sequence)).toEqual([7, undefined, undefined]);
});

test('the next number is asked of the API server, since a watch may be behind', async () => {
  const asked: unknown[] = [];
  const cluster = {
    async list(query: unknown) {
      asked.push(query);
      return secrets;
    },
  } as unknown as Cluster;
  const records = createRecords(cluster, undefined);
  expect(await records.nextSequence(canary, 'v1:d')).toBe(8);
  expect(await records.nextSequence(canary, 'v1:a')).toBe(7);
  expect(await records.nextSequence(canary, 'v1:c')).toBe(8);
  expect(asked[0]).toMatchObject({
    kind: 'Secret',
    namespace: 'shop',
    labelSelector: 'holdfast.dev/canary=web,holdfast.dev/record=release',
  });
});
