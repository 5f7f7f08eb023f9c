import { expect, test } from 'vitest';
import type { KubernetesObject, ObjectReference } from '../../../api/kubernetes.ts';
import { aRelease } from '../../../workload/shared/fixtures.test-support.ts';
import type { Head } from './heads.ts';
import { createLiveConfig, readConfigs } from './live-config.ts';
import type { NamespaceView } from './namespace-view.ts';

const key = new Uint8Array(32).fill(7);

/** A cluster with one Secret, whose reads are counted, and a watch of its version. */
function aCluster(initial?: { password: string; annotations?: Record<string, string>; type?: string }) {
  let secret = initial;
  let version = 1;
  let reads = 0;
  const object = (): KubernetesObject | undefined =>
    secret && {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'podinfo-secret',
        namespace: 'shop',
        resourceVersion: String(version),
        ...(secret.annotations ? { annotations: secret.annotations } : {}),
      },
      type: secret.type ?? 'Opaque',
      data: { password: secret.password },
    };
  return {
    get: async (_: ObjectReference) => {
      reads += 1;
      return object();
    },
    view: {
      namespace: 'shop',
      configVersion: () => (secret ? String(version) : ''),
    } as unknown as NamespaceView,
    change(next: typeof initial) {
      secret = next;
      version += 1;
    },
    reads: () => reads,
  };
}

function aHead(): Head {
  const release = aRelease();
  const { digest, commit } = release;
  const view = { digest, commit, settingsKey: 's', replicas: 2, mountsConfig: false };
  return { view: { kind: 'release', release: view }, release };
}

async function digestWith(cluster: ReturnType<typeof aCluster>, head = aHead()): Promise<string | undefined> {
  const found = await createLiveConfig(cluster, key).withLiveConfig('shop/podinfo', head, cluster.view);
  expect(found?.view.kind === 'release' && found.view.release.digest).toBe(found?.release?.digest);
  return found?.release?.digest;
}

test('config outside Git is a second part of the digest, which changes with its content', async () => {
  const cluster = aCluster({ password: 'b25l' });
  const one = await digestWith(cluster);
  expect(one).toMatch(/^v1:0123abcd\+[0-9a-f]{16}$/);
  cluster.change({ password: 'dHdv' });
  expect(await digestWith(cluster)).not.toBe(one);
  cluster.change({ password: 'b25l' });
  expect(await digestWith(cluster)).toBe(one);
});

test.each([
  ['is not there', undefined],
  ['opts out', { password: 'eA==', annotations: { 'flagger.app/config-tracking': 'disabled' } }],
  ['is followed', { password: 'eA==', annotations: { 'holdfast.dev/config-tracking': 'follow' } }],
  ['is of a type that is not tracked', { password: 'eA==', type: 'kubernetes.io/service-account-token' }],
] as const)('one that %s has no part in it', async (_, secret) => {
  expect(await digestWith(aCluster(secret))).toBe('v1:0123abcd');
});

test('content is read when the watch shows another version, and else not', async () => {
  const cluster = aCluster({ password: 'b25l' });
  const config = createLiveConfig(cluster, key);
  const head = aHead();
  const look = () => config.withLiveConfig('shop/podinfo', head, cluster.view);
  const first = await look();
  expect(await look()).toBe(first);
  expect(cluster.reads()).toBe(1);
  cluster.change({ password: 'dHdv' });
  await look();
  expect(cluster.reads()).toBe(2);
  expect(
    config.names('shop/podinfo', { kind: 'Secret', metadata: { name: 'podinfo-secret' } } as never),
  ).toBe(true);
  expect(config.names('shop/podinfo', { kind: 'Secret', metadata: { name: 'other' } } as never)).toBe(false);
});

test('a head that names none comes back as it is, and asks nothing', async () => {
  const cluster = aCluster();
  const release = { ...aRelease(), liveConfigs: [] };
  const head: Head = { ...aHead(), release };
  expect(await createLiveConfig(cluster, key).withLiveConfig('shop/podinfo', head, cluster.view)).toBe(head);
  expect(cluster.reads()).toBe(0);
});

test('nothing is said before the watches know which objects there are', async () => {
  const cluster = aCluster({ password: 'b25l' });
  const view = { namespace: 'shop', configVersion: () => undefined } as unknown as NamespaceView;
  expect(await createLiveConfig(cluster, key).withLiveConfig('shop/podinfo', aHead(), view)).toBeUndefined();
});

test('of thousands of ConfigMaps of a mebibyte that a template names no more are held than the process has room for', async () => {
  const data = { a: 'x'.repeat(1_000_000) };
  let read = 0;
  const cluster = {
    async get({ name }: ObjectReference): Promise<KubernetesObject> {
      read += 1;
      return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, data };
    },
  };
  const named = Array.from(
    { length: 5_000 },
    (_, index) => ({ kind: 'ConfigMap', name: `a${index}` }) as const,
  );

  await expect(readConfigs(cluster, 'shop', named)).rejects.toMatchObject({
    reason: 'RecordTooLarge',
    message: expect.stringContaining('more than 16 MiB'),
  });

  expect(read).toBeLessThan(30);
});
