import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageOf } from '../objects.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  follow,
  isNotIdle,
  primaryImage,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';
import { configWith, deploymentWithConfig } from './with-config.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const configMap = (name: string, more: object = {}) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shop', ...more },
    data: { key: 'value' },
  });

function sourceCondition(type: string, reason: string): Promise<string> {
  return eventually(
    `condition ${type} with reason ${reason}`,
    async () => {
      const found = condition(await bed.source(), type);
      return found?.reason === reason && found.status !== 'True' ? found.message : undefined;
    },
    { seen: async () => statusOf(await bed.source()) },
  );
}

function canaryCondition(name: string, reason: string): Promise<string> {
  return eventually(
    `Ready of ${name} with reason ${reason}`,
    async () => {
      const found = condition(await bed.canary(name), 'Ready');
      return found?.reason === reason && found.status === 'False' ? found.message : undefined;
    },
    { seen: async () => statusOf(await bed.canary(name)) },
  );
}

test('a missing branch is named, and the Source goes on once it exists', async () => {
  await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed, { ref: { branch: 'release' } });
  await bed.start();
  expect(await sourceCondition('Fetched', 'RefNotFound')).toContain('release');
});

test('a Source that waits for a person for five minutes is Stalled, until it is Ready again', async () => {
  await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed, { path: './clusters/prod' });
  await bed.start();
  const stalled = async () => condition(await bed.source(), 'Stalled');
  await sourceCondition('Rendered', 'PathNotFound');
  expect(await stalled()).toBeUndefined();

  await bed.pass(400_000);
  expect(await stalled()).toMatchObject({ status: 'True', reason: 'PathNotFound' });

  await bed.commit('second', { 'clusters/prod/a.json': configMap('a') });
  await eventually('the Source is not Stalled', async () => (await stalled()) === undefined);
  expect(condition(await bed.source(), 'Ready')?.status).toBe('True');
});

test('a missing path is named', async () => {
  await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed, { path: './clusters/prod' });
  await bed.start();
  expect(await sourceCondition('Rendered', 'PathNotFound')).toContain('clusters does not exist');
});

test('a server that refuses connections is named', async () => {
  await createSource(bed, { url: 'http://127.0.0.1:1/shop.git' });
  await bed.start();
  expect(await sourceCondition('Fetched', 'Unreachable')).toContain('127.0.0.1:1');
});

test('a Git server that answers is not what an API server is slow for', async () => {
  await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed, { timeout: '1s' });
  bed.sandbox.fault(({ method, path }) =>
    method === 'PATCH' && path.endsWith('/configmaps/a') ? { until: sleep(1_500) } : undefined,
  );
  const told = follow(bed, ({ get }) => {
    const source = get('holdfast.dev/sources', 'shop', 'shop');
    return `${condition(source, 'Ready')?.reason}, Fetched=${condition(source, 'Fetched')?.status}`;
  });

  await bed.start();

  const isReady = async () => condition(await bed.source(), 'Ready')?.status === 'True';
  await eventually('it is applied in the end', isReady, { seen: bed.source });
  expect([...told]).toContain('Timeout, Fetched=True');
});

test('an SSH address without a Secret, or with one that knows no host, is refused with what is missing', async () => {
  const url = 'ssh://git@git.example.com:2222/acme/shop.git';
  await createSource(bed, { url });
  await bed.start();
  expect(await sourceCondition('Ready', 'InvalidSpec')).toMatch(/spec\.secretRef.*identity.*known_hosts/);
  expect(condition(await bed.source(), 'Stalled')).toMatchObject({ status: 'True', reason: 'InvalidSpec' });
  const metadata = { name: 'git-login', namespace: 'shop' };
  const data = { identity: Buffer.from('-----BEGIN s3cret').toString('base64') };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, data };
  await bed.send('POST', '/api/v1/namespaces/shop/secrets', secret);
  const path = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop';
  const patch = { spec: { secretRef: { name: 'git-login' } } };
  expect((await bed.send('PATCH', path, patch)).status).toBe(200);
  const message = await sourceCondition('Fetched', 'Unauthorized');
  expect(message).toMatch(/Secret shop\/git-login: an SSH address needs known_hosts/);
  expect(message).not.toContain('s3cret');
});

test('a missing Secret is named', async () => {
  await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed, { secretRef: { name: 'git-login' } });
  await bed.start();
  expect(await sourceCondition('Ready', 'SecretNotFound')).toContain('shop/git-login');
});

test('a broken file is named with its line, freezes what it holds, and nothing else', async () => {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary(),
    'other.json': deployment('shop/other:1', { name: 'other' }),
    'other-canary.json': canary({ name: 'other' }),
  });
  await runUntilInitialized(bed);
  await eventually(
    'the other Canary is initialized',
    async () => statusOf(await bed.canary('other')).phase === 'Initialized',
  );
  await bed.commit('breaks other', {
    'other.json': '{"apiVersion": "apps/v1",\n "kind": Deployment',
    'web.json': deployment('shop/web:2'),
  });
  expect(await sourceCondition('Rendered', 'InvalidManifests')).toMatch(/other\.json:\d/);
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
  expect(imageOf(await bed.get('apps/v1', 'Deployment', 'other-primary'))).toBe('shop/other:1');
});

test('what a broken file holds stays frozen after a restart, with its config', async () => {
  const web = (image: string) => `${canary()}\n---\n${deploymentWithConfig(image)}\n`;
  await bed.commit('v1', { 'web.yaml': web('shop/web:1'), 'config.json': configWith('info') });
  const app = await runUntilInitialized(bed);
  await app.drain();

  await bed.commit('v2', {
    'web.yaml': `${web('shop/web:2')}---\n{ broken`,
    'config.json': configWith('debug'),
  });
  await bed.start();

  await sourceCondition('Rendered', 'InvalidManifests');
  await eventually(
    'the Canary says so',
    async () => /previous plan stays in effect.*web\.yaml/.test(`${statusOf(await bed.canary()).message}`),
    { seen: async () => statusOf(await bed.canary()) },
  );
  await bed.pass(30_000);
  expect((await bed.get('v1', 'ConfigMap', 'settings'))?.data).toEqual({ level: 'info' });
});

test('an object that Flux applies is refused and named, the others are applied', async () => {
  const labels = {
    'kustomize.toolkit.fluxcd.io/name': 'apps',
    'kustomize.toolkit.fluxcd.io/namespace': 'flux',
  };
  await bed.send('POST', '/api/v1/namespaces/shop/configmaps', JSON.parse(configMap('theirs', { labels })));
  await bed.commit('first', { 'theirs.json': configMap('theirs'), 'ours.json': configMap('ours') });
  await createSource(bed);
  await bed.start();
  expect(await sourceCondition('Applied', 'Conflicted')).toMatch(/theirs\.json:1.*Kustomization flux\/apps/);
  expect(await bed.get('v1', 'ConfigMap', 'ours')).toBeDefined();
  await bed.commit('adopt', {
    'theirs.json': configMap('theirs', { annotations: { 'holdfast.dev/adopt': 'true' } }),
  });
  await eventually(
    'the object is taken over',
    async () => condition(await bed.source(), 'Ready')?.status === 'True',
  );
});

test('a kind that the cluster does not serve is named', async () => {
  // Without it nobody knows whether it belongs into a namespace.
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' } };
  await bed.commit('first', { 'widget.json': JSON.stringify(widget), 'ours.json': configMap('ours') });
  await createSource(bed);
  await bed.start();
  expect(await sourceCondition('Applied', 'UnknownKind')).toContain('serves no Widget of example.com/v1');
  expect(await bed.get('v1', 'ConfigMap', 'ours')).toBeDefined();
});

test('a Canary that asks for a kind the server does not have stops nobody else in its namespace', async () => {
  const autoscalerRef = { apiVersion: 'keda.sh/v1alpha1', kind: 'ScaledObject', name: 'cart' };
  await bed.commit('first', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary(),
    'cart.json': deployment('shop/cart:1', { name: 'cart' }),
    'cart-canary.json': canary({ name: 'cart', spec: { autoscalerRef } }),
  });
  await createSource(bed);
  await bed.start();
  expect(await canaryCondition('cart', 'WatchFailed')).toContain('is its CRD installed?');
  await waitForPhase(bed, 'Initialized');
  await bed.commit('second', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
});

test('two Canaries on one target: the older one works, the younger one says why it does not', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
  await bed.pass(2_000);
  const second = JSON.parse(canary({ name: 'second' }));
  second.spec.targetRef.name = 'web';
  await bed.send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/canaries', second);
  expect(await canaryCondition('second', 'TargetConflict')).toContain('Canary shop/web');
  expect(statusOf(await bed.canary()).phase).toBe('Initialized');
});

test('a provider without what it needs is named on the Canary', async () => {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({ spec: { provider: 'appmesh' } }),
  });
  await createSource(bed);
  await bed.start();
  expect(await canaryCondition('web', 'InvalidSpec')).toContain('spec.service.meshName');
});

test('fields that are not acted on are named without stopping the Canary', async () => {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary({
      spec: { upstreamRef: { apiVersion: 'gloo.solo.io/v1', kind: 'Upstream', name: 'up' } },
    }),
  });
  await runUntilInitialized(bed);
  const found = condition(await bed.canary(), 'FieldsNotActedOn');
  expect(found).toMatchObject({ status: 'True', message: expect.stringContaining('spec.upstreamRef') });
});

test.each(['', 'x'])(
  'a long subject of emoji, begun with "%s", is cut between characters, and then all is quiet',
  async (begin) => {
    const subject = `${begin}${'🚀'.repeat(120)}`;
    await bed.commit(subject, { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
    await runUntilInitialized(bed);
    await bed.commit(`${subject} v2`, { 'web.json': deployment('shop/web:2') });
    await waitForPhase(bed, 'Succeeded');

    await eventually('nothing is asked for a while', async () => {
      bed.sandbox.requests.clear();
      await bed.pass(20_000);
      return bed.sandbox.requests.all().filter(isNotIdle).length === 0;
    });
    expect(JSON.stringify([statusOf(await bed.canary()), statusOf(await bed.source())])).not.toContain(
      '\uFFFD',
    );
  },
);

test('history that was rewritten waits for an approval', async () => {
  await bed.commit('v1', { 'a.json': configMap('a') });
  const second = await bed.commit('v2', { 'b.json': configMap('b') });
  await createSource(bed);
  await bed.start();
  await eventually('v2 is applied', async () => statusOf(await bed.source()).appliedCommit === second);
  const rewritten = await bed.rewrite('another v1', { 'c.json': configMap('c') });
  expect(await sourceCondition('Ready', 'HistoryRewritten')).toContain(rewritten);
  expect(await bed.get('v1', 'ConfigMap', 'c')).toBeUndefined();
  const annotations = { 'holdfast.dev/approve': rewritten };
  await bed.send('PATCH', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop', {
    metadata: { annotations },
  });
  await eventually(
    'the rewritten history is applied',
    async () => statusOf(await bed.source()).appliedCommit === rewritten,
  );
  expect(await bed.get('v1', 'ConfigMap', 'c')).toBeDefined();
});
