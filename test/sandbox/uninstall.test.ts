import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { installObjects } from '../../src/cli/install/install.ts';
import { imageOf } from '../objects.ts';
import { canary, deployment, eventually, runUntilInitialized, statusOf } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

/** The steps of docs/guides/uninstall.md, in their order. */
let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const sources = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources';
const canaries = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';

/** v1 proved itself; workload and Canary are in Git. */
async function install(): Promise<{ drain(): Promise<void> }> {
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' } };
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary(),
    'settings.json': JSON.stringify({ ...config, data: { colour: 'blue' } }),
  });
  const app = await runUntilInitialized(bed);
  return app;
}

/** Until the controller has seen it, a deletion would take the primary away at once. */
async function askToHandBack(): Promise<void> {
  await bed.send('PATCH', `${canaries}/web`, { spec: { revertOnDeletion: true } });
  await eventually('the finalizer', async () =>
    (await bed.canary())?.metadata.finalizers?.includes('finalizer.flagger.app'),
  );
}

async function listed(path: string): Promise<KubernetesObject[]> {
  const { body } = await bed.send('GET', path);
  return (body as { items?: KubernetesObject[] }).items ?? [];
}

/** Everything that still has to do with Holdfast: by its name, its type, or a key of its labels and annotations; `held` by a finalizer or owner of ours. */
async function traces(): Promise<string[]> {
  const apps = ['deployments', 'replicasets'].map((plural) => `/apis/apps/v1/${plural}`);
  const core = ['configmaps', 'secrets', 'services'].map((plural) => `/api/v1/${plural}`);
  const paths = [...apps, ...core, '/apis/coordination.k8s.io/v1/leases'];
  const objects = (await Promise.all(paths.map(listed))).flat();
  return objects
    .flatMap(({ kind, type, metadata }) => {
      const { name, namespace, labels, annotations, finalizers = [], ownerReferences = [] } = metadata;
      const words = [...Object.keys({ ...labels, ...annotations }), String(type), name];
      const holders = [...finalizers, ...ownerReferences.map((owner) => owner.kind)];
      const held = holders.some((holder) => /flagger|holdfast|^Canary$/.test(holder)) ? ', held' : '';
      const isOurs = words.some((word) => /holdfast|flagger|applyset/.test(word));
      return isOurs || held ? [`${kind} ${namespace}/${name}${held}`] : [];
    })
    .sort();
}

test('in the documented order no request fails, workloads stay, and what is left is what the guide names', async () => {
  const app = await install();
  const users = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });

  await bed.send('DELETE', `${sources}/shop`);
  await eventually('the Source is gone', async () => (await bed.source()) === undefined);
  await askToHandBack();
  await bed.send('DELETE', `${canaries}/web`);
  await eventually(
    'the Canary is gone, and nobody makes it again',
    async () => (await bed.canary()) === undefined,
  );
  await eventually('the primary is collected', async () => {
    return (await bed.get('apps/v1', 'Deployment', 'web-primary')) === undefined;
  });
  await app.drain();
  for (const { metadata } of installObjects({
    namespace: 'default',
    image: 'holdfast:test',
    crdsOnly: true,
  })) {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`;
    expect((await bed.send('DELETE', path)).status).toBe(200);
  }
  await bed.pass(2_000);
  users.stop();

  expect(users.totals().failed).toBe(0);
  expect(users.totals().requests).toBeGreaterThan(0);
  const target = await bed.get('apps/v1', 'Deployment', 'web');
  expect([imageOf(target), target?.status]).toMatchObject(['shop/web:1', { readyReplicas: 2 }]);
  const service = await bed.get('v1', 'Service', 'web');
  expect([service?.spec, service?.metadata.ownerReferences ?? []]).toMatchObject([
    { selector: { app: 'web' } },
    [],
  ]);
  expect((await bed.get('v1', 'ConfigMap', 'settings'))?.data).toEqual({ colour: 'blue' });
  const record = expect.stringMatching(/^Secret shop\/holdfast-web-[0-9a-f]{16}$/);
  expect(await traces()).toEqual([
    ...['ConfigMap shop/settings', 'Deployment shop/web'],
    // Of the namespace of Holdfast, and gone with it.
    ...['Lease default/holdfast', 'Secret default/holdfast-key'],
    record,
    ...['Service shop/web', 'Service shop/web-canary', 'Service shop/web-primary'],
  ]);
});

test('a Canary that is deleted after the controller waits for it, and goes when it runs again', async () => {
  const app = await install();
  await bed.send('DELETE', `${sources}/shop`);
  await askToHandBack();
  await app.drain();
  await bed.send('DELETE', `${canaries}/web`);
  await bed.pass(5_000);
  expect((await bed.canary())?.metadata.finalizers).toEqual(['finalizer.flagger.app']);
  expect(statusOf(await bed.get('apps/v1', 'Deployment', 'web-primary'))).toMatchObject({ readyReplicas: 2 });
  await bed.start();
  await eventually('the Canary is gone', async () => (await bed.canary()) === undefined);
  expect(statusOf(await bed.get('apps/v1', 'Deployment', 'web'))).toMatchObject({ readyReplicas: 2 });
});
