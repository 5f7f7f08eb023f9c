import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageOf, replicasOf } from '../objects.ts';
import {
  type Bed,
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  primaryImage,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { startQuickBed } from './quick-bed.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

test('v1 becomes the primary, v2 goes through its analysis and is promoted', async () => {
  const v1 = await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
  expect(await primaryImage(bed)).toBe('shop/web:1');
  const first = statusOf(await bed.canary());
  expect(first.lastPromotedCommit).toBe(v1);
  await eventually(
    'the canary rests',
    async () => replicasOf(await bed.get('apps/v1', 'Deployment', 'web')) === 0,
  );
  const v2 = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually(
    'the canary is scaled up',
    async () => replicasOf(await bed.get('apps/v1', 'Deployment', 'web')) === 2,
  );
  await waitForPhase(bed, 'Succeeded');
  expect(replicasOf(await bed.get('apps/v1', 'Deployment', 'web'))).toBe(0);
  const second = statusOf(await bed.canary());
  expect(second.lastPromotedCommit).toBe(v2);
  expect(await primaryImage(bed)).toBe('shop/web:2');
  await eventually('the Source is ready at v2', async () => {
    const source = await bed.source();
    return condition(source, 'Ready')?.status === 'True' && statusOf(source).appliedCommit === v2;
  });
});

test('a Service of the primary that somebody changes during the first rollout is put right, and the rollout ends', async () => {
  const path = '/api/v1/namespaces/shop/services/web-primary';
  let isChanged = false;
  bed.sandbox.store.subscribe(({ storageKey, object: { metadata } }) => {
    if (storageKey !== '/services' || metadata.name !== 'web-primary' || isChanged) return;
    isChanged = true;
    void bed.send('PATCH', path, { spec: { selector: { app: 'theirs' } } });
  });
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
  expect(isChanged).toBe(true);
  const service = await bed.get('v1', 'Service', 'web-primary');
  expect(service?.spec).toMatchObject({ selector: { app: 'web-primary' } });
});

test('a service account that Git takes from a workload is gone from the canary, the primary and what has no Canary', async () => {
  const manifest = (name: string, version: number, pod: object = {}) => {
    const object = JSON.parse(deployment(`shop/web:${version}`, { name }));
    Object.assign(object.spec.template.spec, pod);
    return JSON.stringify(object);
  };
  const files = (version: number, pod?: object) => ({
    'web.json': manifest('web', version, pod),
    'plain.json': manifest('plain', version, pod),
  });
  const accounts = async () => {
    const names = ['web', 'web-primary', 'plain'];
    const found = await Promise.all(names.map((name) => bed.get('apps/v1', 'Deployment', name)));
    const specs = found.map((one) => one?.spec as { template: { spec: { serviceAccountName?: string } } });
    return specs.map(({ template }) => template.spec.serviceAccountName);
  };
  await bed.commit('v1', { ...files(1, { serviceAccountName: 'wide' }), 'canary.json': canary() });
  await runUntilInitialized(bed);
  expect(await accounts()).toEqual(['wide', 'wide', 'wide']);

  await bed.commit('v2', files(2));
  await waitForPhase(bed, 'Succeeded');

  await eventually('no account', async () => (await accounts()).every((name) => name === undefined), {
    seen: accounts,
  });
});

test('an account that kubectl gave a workload without one stays, also where the object refuses to take fields from others', async () => {
  const manifest = (version: number) => {
    const object = JSON.parse(deployment(`shop/web:${version}`, { name: 'plain' }));
    object.metadata.annotations = { 'holdfast.dev/on-conflict': 'refuse' };
    return JSON.stringify(object);
  };
  const plain = () => bed.get('apps/v1', 'Deployment', 'plain');
  await bed.commit('v1', { 'plain.json': manifest(1) });
  await createSource(bed);
  await bed.start();
  await eventually('v1 is applied', async () => imageOf(await plain()) === 'shop/web:1');
  const path = '/apis/apps/v1/namespaces/shop/deployments/plain?fieldManager=kubectl-set';
  const patch = { spec: { template: { spec: { serviceAccountName: 'own', serviceAccount: 'own' } } } };
  expect((await bed.send('PATCH', path, patch)).status).toBe(200);

  const v2 = await bed.commit('v2', { 'plain.json': manifest(2) });

  await eventually('v2 is applied', async () => statusOf(await bed.source()).appliedCommit === v2, {
    seen: () => bed.source(),
  });
  expect(imageOf(await plain())).toBe('shop/web:2');
  expect((await plain())?.spec).toMatchObject({ template: { spec: { serviceAccountName: 'own' } } });
});
