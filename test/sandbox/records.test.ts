import { afterEach, beforeEach, expect, test } from 'vitest';
import { git } from '../../sandbox/git-server/git.test-support.ts';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { imageOf } from '../objects.ts';
import {
  canary,
  condition,
  deployment,
  eventually,
  failPods,
  primaryImage,
  runUntilInitialized,
  statusOf,
  untilIdle,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const secrets = '/api/v1/namespaces/shop/secrets';

async function goodRecord(): Promise<NonNullable<CanaryStatus['lastKnownGood']>> {
  const { lastKnownGood } = statusOf(await bed.canary()) as CanaryStatus;
  if (!lastKnownGood) throw new Error('there is no last-known-good');
  return lastKnownGood;
}

async function secretNamed(name: string): Promise<KubernetesObject> {
  const found = await bed.get('v1', 'Secret', name);
  if (!found) throw new Error(`there is no Secret ${name}`);
  return found;
}

/** Puts another object in the place of a Secret, as a person with kubectl would: immutable ones cannot be edited. */
async function replaceSecret(old: string, wanted: KubernetesObject | undefined): Promise<void> {
  await bed.send('DELETE', `${secrets}/${old}`);
  if (!wanted) return;
  const { name, namespace, labels, annotations } = wanted.metadata;
  const { status, body } = await bed.send('POST', secrets, {
    ...wanted,
    metadata: { name, namespace, labels, annotations },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
}

function untilReason(reason: string): Promise<true> {
  return eventually(
    `RollbackReady ${reason}`,
    async () => condition(await bed.canary(), 'RollbackReady')?.reason === reason || undefined,
    { seen: async () => statusOf(await bed.canary()) },
  );
}

/** 700 KiB that gzip cannot shrink, so that two of them need several parts. */
function noise(seed: number): string {
  let state = seed;
  const bytes = new Uint8Array(512 * 1024).map(() => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state >>> 16;
  });
  return Buffer.from(bytes).toString('base64');
}

function bigConfig(name: string, seed: number): string {
  const metadata = { name, namespace: 'shop' };
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { noise: noise(seed) } });
}

function withConfigs(image: string, names: readonly string[]): string {
  const object = JSON.parse(deployment(image)) as { spec: { template: { spec: Record<string, unknown> } } };
  object.spec.template.spec.volumes = names.map((name) => ({ name, configMap: { name } }));
  return JSON.stringify(object);
}

/** Config whose record takes more than one Secret. */
const severalParts = ['one', 'two'];
const rewritable = { ref: { branch: 'main', rewrite: 'allow' } };

/** Of v2, with this config; Holdfast has ended. */
async function twoReleases(
  spec: Record<string, unknown> = {},
  config: readonly string[] = [],
): Promise<void> {
  const files = config.map((name, index) => [`${name}.json`, bigConfig(name, index + 1)]);
  const first = { 'web.json': deployment('shop/web:1'), 'canary.json': canary() };
  await bed.commit('v1', { ...first, ...Object.fromEntries(files) });
  const app = await runUntilInitialized(bed, spec);
  await bed.commit('v2', { 'web.json': withConfigs('shop/web:2', config) });
  await waitForPhase(bed, 'Succeeded');
  await app.drain();
}

test('a damaged record is written anew from Git, at head or at its own commit, since the digest proves it', async () => {
  await twoReleases({}, severalParts);
  const { record, promotedTime } = await goodRecord();
  const before = await secretNamed(record);
  await bed.start();
  await replaceSecret(record, { ...before, data: { release: 'dHJ1bmNhdGVk' } });
  await untilReason('RecordKept');
  const data = (object: KubernetesObject) => object.data;
  await eventually('the bytes are back', async () => {
    const now = await bed.get('v1', 'Secret', record);
    return now && JSON.stringify(data(now)) === JSON.stringify(data(before));
  });
  expect((await goodRecord()).promotedTime).toBe(promotedTime);

  failPods(bed, 'shop/web:3');
  await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await waitForPhase(bed, 'Failed');
  await replaceSecret(record, undefined);
  await eventually('the record is back while head is another release', async () => {
    return (await bed.get('v1', 'Secret', record)) !== undefined;
  });
  await untilReason('RecordKept');
  expect(await primaryImage(bed)).toBe('shop/web:2');
});

test('a damaged record that Git cannot give back is reported, not used, and nothing is written', async () => {
  await twoReleases(rewritable, severalParts);
  await bed.rewrite('v3', {
    'web.json': deployment('shop/web:3'),
    'canary.json': canary(),
    'one.json': bigConfig('one', 1),
  });
  await git(bed.repository, ['reflog', 'expire', '--expire=now', '--all']);
  await git(bed.repository, ['gc', '--quiet', '--prune=now']);
  const { record } = await goodRecord();
  const first = await secretNamed(record);
  const part = await secretNamed(`${record}.part-1`);
  const labels = { ...first.metadata.labels };
  const marked = (metadata: Partial<KubernetesObject['metadata']>): KubernetesObject => ({
    ...first,
    metadata: { ...first.metadata, ...metadata },
  });
  const damages: ReadonlyArray<readonly [string, KubernetesObject | undefined, RegExp]> = [
    ['gone', undefined, /is gone/],
    [
      'truncated',
      {
        ...marked({ annotations: { ...first.metadata.annotations, 'holdfast.dev/parts': '1' } }),
        data: { release: 'H4sIAAAA' },
      },
      /its content is damaged/,
    ],
    [
      'the labels of another Canary',
      marked({ labels: { ...labels, 'holdfast.dev/canary': 'api' } }),
      /its labels are not/,
    ],
    [
      'the digest of another release',
      marked({
        annotations: { ...first.metadata.annotations, 'holdfast.dev/digest': `v1:${'0'.repeat(64)}` },
      }),
      /holdfast.dev\/digest/,
    ],
    ['a Secret of somebody else', { ...first, type: 'Opaque' }, /type Opaque/],
    ['a part missing', first, /part 2 of \d is missing/],
  ];
  await replaceSecret(record, undefined);
  await bed.start();
  await untilReason('RecordDamaged');
  for (const [what, wanted, message] of damages) {
    await replaceSecret(record, undefined);
    if (what === 'a part missing') await replaceSecret(part.metadata.name, undefined);
    await replaceSecret(record, wanted);
    const found = await eventually(
      `${what} is reported`,
      async () => {
        const ready = condition(await bed.canary(), 'RollbackReady');
        return ready?.status === 'False' && message.test(ready.message) ? ready : undefined;
      },
      { seen: async () => condition(await bed.canary(), 'RollbackReady') },
    );
    expect(found.reason).toBe('RecordDamaged');
    expect(found.message).toContain('the next proven release is');
    expect(found.message).toContain('"v1"');
    expect(await primaryImage(bed)).toBe('shop/web:2');
  }
  await replaceSecret(part.metadata.name, part);
  await untilReason('RecordKept');
  await eventually('head is rolled out', async () => (await primaryImage(bed)) === 'shop/web:3');
  await waitForPhase(bed, 'Succeeded');
});

test('a lost last-known-good costs nothing while nobody acts', async () => {
  await twoReleases(rewritable);
  await bed.rewrite('v3', { 'web.json': deployment('shop/web:3'), 'canary.json': canary() });
  await git(bed.repository, ['reflog', 'expire', '--expire=now', '--all']);
  await git(bed.repository, ['gc', '--quiet', '--prune=now']);
  await replaceSecret((await goodRecord()).record, undefined);
  await bed.start();
  await untilReason('RecordDamaged');
  await untilIdle(bed, 60_000);
});

test('a release that is too large to be kept is refused before anything of it is written', async () => {
  await twoReleases();
  await bed.start();
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm'];
  const files = Object.fromEntries(names.map((name, index) => [`${name}.json`, bigConfig(name, index + 3)]));
  await bed.commit('v3', { 'web.json': withConfigs('shop/web:3', names), ...files });
  const ready = await eventually(
    'the release is refused',
    async () => {
      const found = condition(await bed.canary(), 'Stalled');
      return found?.reason === 'RecordTooLarge' ? found : undefined;
    },
    { seen: async () => statusOf(await bed.canary()) },
  );
  expect(ready.message).toMatch(/has 8\.\d MiB, 0\.7 MiB of it ConfigMap shop\/./);
  expect(ready.status).toBe('True');
  expect(imageOf(await bed.get('apps/v1', 'Deployment', 'web'))).toBe('shop/web:2');
  expect(await bed.get('v1', 'ConfigMap', 'a')).toBeUndefined();
});

test('a record stamped by a leader whose clock was ahead hides no newer release, and is not kept before it (S30)', async () => {
  await twoReleases();
  await bed.start();
  const { record } = await goodRecord();
  const stamped = { metadata: { annotations: { 'holdfast.dev/promoted-time': '2099-01-01T00:00:00Z' } } };
  await bed.send('PATCH', `${secrets}/${record}`, stamped);
  const v3 = await bed.commit('v3', { 'web.json': deployment('shop/web:3') });
  await eventually(
    'v3 is the last-known-good',
    async () => {
      const { phase, lastKnownGood } = statusOf(await bed.canary()) as CanaryStatus;
      return phase === 'Succeeded' && lastKnownGood?.commit === v3;
    },
    { seen: async () => statusOf(await bed.canary()) },
  );
  const newest = await secretNamed((await goodRecord()).record);
  expect(newest.metadata.annotations).toMatchObject({ 'holdfast.dev/sequence': '3' });
  expect((await secretNamed(record)).metadata.annotations).toMatchObject({ 'holdfast.dev/sequence': '2' });
});
