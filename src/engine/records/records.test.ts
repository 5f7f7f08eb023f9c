import { expect, test } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Cluster } from '../../contracts/cluster.ts';
import { buildRelease } from '../../release/build.ts';
import { releaseInput, testKey } from '../../release/fixtures.test-support.ts';
import { type DecodedRecord, recordAnnotations, recordLabels, recordName } from '../../release/record.ts';
import { createRecordMemory, createRecords, recordVersion, recordViews } from './records.ts';

const canary = { namespace: 'shop', name: 'web' };

test('a record that cannot be read now is no reason to stop, and is asked again each time until it can be', async () => {
  let answer: Error | undefined = Object.assign(new Error('secrets is forbidden'), { kind: 'forbidden' });
  let asked = 0;
  const cluster = {
    get: async () => {
      asked += 1;
      if (answer) throw answer;
      return undefined;
    },
  };
  const records = createRecords(cluster as unknown as Parameters<typeof createRecords>[0], undefined);
  for (let time = 1; time <= 2; time += 1) {
    const problem = await records.problemOf(canary, 'v1:a', 'uid 1');
    expect(problem).toMatchObject({
      isUnread: true,
      message: expect.stringContaining('cannot be read: secrets is forbidden'),
    });
    expect(asked).toBe(time);
  }
  answer = undefined;
  expect(await records.problemOf(canary, 'v1:a', 'uid 1')).toEqual({
    message: expect.stringContaining('is gone'),
  });
  await records.problemOf(canary, 'v1:a', 'uid 1');
  expect(asked).toBe(3);
});

test('what was read back when it was written is not read again, until another version of it is there', async () => {
  const stored = new Map<string, KubernetesObject>();
  let asked = 0;
  const cluster = {
    get: async ({ name }: { name: string }) => {
      asked += 1;
      return stored.get(name);
    },
    create: async (object: KubernetesObject) => {
      const metadata = { ...object.metadata, uid: 'uid', resourceVersion: '1' };
      return stored.set(metadata.name, { ...object, metadata });
    },
  };
  const records = createRecords(cluster as unknown as Parameters<typeof createRecords>[0], testKey);
  const release = buildRelease(releaseInput());
  if (release.problem) throw new Error(release.problem.message);
  const { canary, digest } = release.ok;
  const name = recordName(canary, digest);
  const problem = () => records.problemOf(canary, digest, recordVersion([...stored.values()], name));
  expect(await records.save(release.ok)).toBe(true);
  // Whether it is there, and what was written.
  expect(asked).toBe(2);
  expect(await problem()).toBeUndefined();
  expect((await records.load(canary, digest)).release.digest).toBe(digest);
  expect(asked).toBe(2);

  const [secret] = stored.values();
  if (!secret) throw new Error('nothing was written');
  stored.set(name, { ...secret, data: {}, metadata: { ...secret.metadata, resourceVersion: '2' } });
  expect((await problem())?.message).toMatch(/./);
  expect(asked).toBe(3);
});

const record = (name: string) => ({ name }) as DecodedRecord;
const size = JSON.stringify(record('a')).length;

test('gives back what was read, with the version it was read at', () => {
  const memory = createRecordMemory();
  memory.set('shop/a', { version: '1', problem: undefined, record: record('a') });
  expect(memory.get('shop/a')).toMatchObject({ version: '1', record: { name: 'a' } });
  memory.delete('shop/a');
  expect(memory.get('shop/a')).toBeUndefined();
});

test('beyond its size the longest unused bytes go; what was found out about them stays', () => {
  const memory = createRecordMemory(2 * size);
  memory.set('a', { version: '1', problem: undefined, record: record('a') });
  memory.set('b', { version: '1', problem: undefined, record: record('b') });
  memory.get('a');
  memory.set('c', { version: '1', problem: undefined, record: record('c') });
  expect(memory.get('b')).toMatchObject({ version: '1', record: undefined });
  expect([memory.get('a')?.record?.name, memory.get('c')?.record?.name]).toEqual(['a', 'c']);
});

test('a record larger than all of it is not kept', () => {
  const memory = createRecordMemory(size - 1);
  memory.set('a', { version: '1', problem: undefined, record: record('a') });
  expect(memory.get('a')?.record).toBeUndefined();
});

test('reading one record again and again does not push others out', () => {
  const memory = createRecordMemory(2 * size);
  memory.set('a', { version: '1', problem: undefined, record: record('a') });
  for (let round = 0; round < 5; round += 1)
    memory.set('b', { version: String(round), problem: undefined, record: record('b') });
  expect(memory.get('a')?.record?.name).toBe('a');
});

const webCanary = { namespace: 'shop', name: 'web' };

/** The first Secret of a record, as two leaders with different clocks left it. */
function secret(digest: string, promotedTime: string, sequence: string | undefined): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: recordName(webCanary, digest),
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
  expect(recordViews(secrets, webCanary).map(({ sequence }) => sequence)).toEqual([7, undefined, undefined]);
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
  expect(await records.nextSequence(webCanary, 'v1:d')).toBe(8);
  expect(await records.nextSequence(webCanary, 'v1:a')).toBe(7);
  expect(await records.nextSequence(webCanary, 'v1:c')).toBe(8);
  expect(asked[0]).toMatchObject({
    kind: 'Secret',
    namespace: 'shop',
    labelSelector: 'holdfast.dev/canary=web,holdfast.dev/record=release',
  });
});
