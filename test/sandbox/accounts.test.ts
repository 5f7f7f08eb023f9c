import { afterEach, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/server/app.ts';
import { imageOf, replicasOf } from '../objects.ts';
import {
  canary,
  condition,
  configMap,
  createSource,
  deployment,
  eventually,
  primaryImage,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const deployer = 'system:serviceaccount:shop:deployer';

/** Who wrote to a path, each once. */
function writersOf(path: RegExp): string[] {
  const writes = bed.sandbox.requests.writes().filter((request) => path.test(request.path));
  return [...new Set(writes.map(({ impersonated }) => impersonated))];
}

test('a Source is written as its account: its objects, deletions, and what rollouts write from it', async () => {
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary(),
    'a.json': configMap('a'),
    'b.json': configMap('b'),
  });
  await runUntilInitialized(
    bed,
    { prune: true, serviceAccountName: 'deployer' },
    { defaultServiceAccount: 'nobody' },
  );
  const commit = await bed.commit('v2', { 'web.json': deployment('shop/web:2'), 'b.json': null });
  await waitForPhase(bed, 'Succeeded');
  await eventually('b is gone', async () => !(await bed.get('v1', 'ConfigMap', 'b')));
  await eventually('v2 is applied', async () => statusOf(await bed.source()).appliedCommit === commit);

  expect(writersOf(/\/configmaps\/[ab]$/)).toEqual([deployer]);
  expect(writersOf(/\/canaries\/web$/)).toContain(deployer);
  const applied = bed.sandbox.requests
    .writes()
    .filter(({ path, query }) => /\/deployments\/web(-primary)?$/.test(path) && query.includes('force='));
  expect(applied.length).toBeGreaterThan(2);
  expect(new Set(applied.map(({ impersonated }) => impersonated))).toEqual(new Set([deployer]));
  expect(writersOf(/\/namespaces\/shop\/secrets$/)).toEqual([deployer]);
  expect(writersOf(/\/(sources|services|events)\b/)).toEqual(['']);
  bed.sandbox.requests.clear();
  await bed.commit('v2 with more pods', { 'web.json': deployment('shop/web:2', { replicas: 3 }) });
  await eventually('the primary has them', async () => {
    const primary = await bed.get('apps/v1', 'Deployment', 'web-primary');
    return replicasOf(primary) === 3;
  });
  expect(writersOf(/\/deployments\/web-primary$/)).toEqual([deployer]);
});

test('without an account of its own it is written as the one that the flag names', async () => {
  const commit = await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed);
  await bed.start({ defaultServiceAccount: 'deployer' });
  await eventually('it is applied', async () => statusOf(await bed.source()).appliedCommit === commit);
  expect(writersOf(/\/configmaps\//)).toEqual([deployer]);
});

const binding = () => bed.get('rbac.authorization.k8s.io/v1', 'RoleBinding', 'holdfast-source');

test('without any account it is written, read and pruned as an account that has the role edit in its namespace, as long as it is there', async () => {
  await bed.commit('first', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary(),
    'a.json': configMap('a'),
    'b.json': configMap('b'),
  });
  await runUntilInitialized(bed, { prune: true });
  const second = await bed.commit('second', { 'a.json': configMap('a'), 'b.json': null });
  await eventually('b is gone', async () => !(await bed.get('v1', 'ConfigMap', 'b')));
  await eventually('it is applied', async () => statusOf(await bed.source()).appliedCommit === second);

  const account = 'system:serviceaccount:shop:holdfast-source';
  expect(writersOf(/\/configmaps\/[ab]$/)).toEqual([account]);
  expect(writersOf(/\/deployments\/web-primary$/)).toContain(account);
  const readers = bed.sandbox.requests
    .all()
    .filter(
      ({ method, path, userAgent }) =>
        method === 'GET' && userAgent.includes('holdfast') && /\/configmaps\/[ab]$/.test(path),
    );
  expect(new Set(readers.map(({ impersonated }) => impersonated))).toEqual(new Set([account]));
  expect(await binding()).toMatchObject({
    roleRef: { kind: 'ClusterRole', name: 'edit' },
    subjects: [{ kind: 'ServiceAccount', name: 'holdfast-source', namespace: 'shop' }],
  });

  await bed.send('DELETE', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop');
  await eventually('the role is taken back', async () => !(await binding()));
});

test('the last-known-good comes back also where the account may write the primary no more', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed, { serviceAccountName: 'deployer' }, { defaultServiceAccount: 'nobody' });
  const primary = () => bed.get('apps/v1', 'Deployment', 'web-primary');
  const env = { PRIMARY_READY: 'false' };
  await bed.commit('v2', { 'web.json': deployment('shop/web:2', { env }) });
  await eventually('v2 is tried there', async () => imageOf(await primary()) === 'shop/web:2');

  bed.sandbox.fault(({ method, path, impersonated }) =>
    method !== 'GET' && impersonated === deployer && path.endsWith('/deployments/web-primary')
      ? { code: 403, reason: 'Forbidden', message: 'deployments.apps "web-primary" is forbidden' }
      : undefined,
  );
  await waitForPhase(bed, 'Failed');

  expect(imageOf(await primary())).toBe('shop/web:1');
});

test('without any account it reaches no other namespace, and is told the two ways out', async () => {
  await bed.send('POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'cart' },
  });
  const namespace = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'mine' } });
  await bed.commit('first', {
    'a.json': configMap('a'),
    'b.json': configMap('b', {}, { namespace: 'cart' }),
    'n.json': namespace,
  });
  await createSource(bed, { allow: { namespaces: ['shop', 'cart', 'mine'] } });
  await bed.start();
  const told = async () => condition(await bed.source(), 'Ready')?.message ?? '';
  await eventually('it is told', async () => (await told()).includes('serviceAccountName'), {
    seen: bed.source,
  });
  expect(await told()).toContain('--trusted-source-namespaces shop');
  await eventually('what is its own is there', () => bed.get('v1', 'ConfigMap', 'a'));
  expect(await bed.get('v1', 'ConfigMap', 'b', 'cart')).toBeUndefined();
  const elsewhere = bed.sandbox.requests.all().filter(({ path }) => /namespaces\/(cart|mine)\b/.test(path));
  expect(elsewhere.filter(({ userAgent }) => userAgent.includes('holdfast'))).toEqual([]);
});

test.each([
  'configmaps "a" is forbidden: exceeded quota: small, requested: count/configmaps=1, used: 9, limited: 9',
  'admission webhook "policy.example.com" denied the request: label team is missing',
  'configmaps "a" is forbidden: unable to create new content in namespace shop because it is being terminated',
])('no more rights are proposed where they are not what is missing: %s', async (message) => {
  bed.sandbox.fault(({ method, path }) =>
    method === 'PATCH' && path.endsWith('/configmaps/a')
      ? { code: 403, reason: 'Forbidden', message }
      : undefined,
  );
  await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed);
  await bed.start();

  const told = await eventually('it is told', async () => {
    const ready = condition(await bed.source(), 'Ready');
    return ready?.reason === 'Forbidden' && ready.message;
  });

  expect(told).toContain(message);
  expect(told).not.toContain('serviceAccountName');
});

test("a trusted namespace's Source is written with Holdfast's own rights", async () => {
  const commit = await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed);
  await bed.start({ trustedSourceNamespaces: ['shop'] });
  await eventually('it is applied', async () => statusOf(await bed.source()).appliedCommit === commit);
  expect(writersOf(/\/configmaps\//)).toEqual(['']);
  expect(await binding()).toBeUndefined();
});

/** The Source is deleted while v2 is tried; `meanwhile` happens before its promotion. Returns who applied the workloads after that. */
async function promotedWithoutSource(
  spec: Record<string, unknown>,
  meanwhile: (app: App) => Promise<unknown>,
): Promise<string[]> {
  const tried = { 'canary.json': canary({ analysis: { iterations: 8 } }) };
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), ...tried });
  const app = await runUntilInitialized(bed, spec);
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually('v2 is tried', async () => Number(statusOf(await bed.canary()).iterations) > 1);
  await bed.send('DELETE', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop');
  await meanwhile(app);
  bed.sandbox.requests.clear();
  await waitForPhase(bed, 'Succeeded');
  expect(await primaryImage(bed)).toBe('shop/web:2');
  const applied = bed.sandbox.requests
    .writes()
    .filter(({ path, query }) => /\/deployments\/web-primary$/.test(path) && query.includes('force='));
  return [...new Set(applied.map(({ impersonated }) => impersonated))];
}

test('a release whose Source is deleted meanwhile is promoted as the account of that Source (issue 13)', async () => {
  const forgets = () => bed.pass(2_000);
  expect(await promotedWithoutSource({ serviceAccountName: 'deployer' }, forgets)).toEqual([deployer]);
});

test('also by a process that never saw that Source', async () => {
  const restarts = async (app: App) => {
    await app.drain();
    await bed.start();
  };
  expect(await promotedWithoutSource({ serviceAccountName: 'deployer' }, restarts)).toEqual([deployer]);
});

test('the role of Sources without an account lasts as long as a release of theirs', async () => {
  const account = 'system:serviceaccount:shop:holdfast-source';
  const looks = async () => {
    await bed.pass(2_000);
    expect(await binding()).toBeDefined();
  };
  expect(await promotedWithoutSource({}, looks)).toEqual([account]);
  await eventually('the role is taken back', async () => !(await binding()));
});

test('a role that is bound to the account by somebody else is left alone', async () => {
  const bound = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'holdfast-source', namespace: 'shop' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
  };
  await bed.send('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings', bound);
  const commit = await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed);
  await bed.start();
  await eventually('it is applied', async () => statusOf(await bed.source()).appliedCommit === commit);
  await bed.send('DELETE', '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop');
  await bed.pass(10_000);
  expect(await binding()).toMatchObject({ roleRef: { name: 'view' } });
});

test('what a rollout would write is bound by spec.allow, too', async () => {
  await bed.send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/canaries', JSON.parse(canary()));
  await bed.commit('first', { 'web.json': deployment('shop/web:1'), 'a.json': configMap('a') });
  await createSource(bed, { allow: { kinds: ['ConfigMap'] } });
  await bed.start();
  await eventually(
    'its Source says so',
    async () =>
      condition(await bed.source(), 'Ready')?.message.includes('web.json:1: Deployment shop/web: kind'),
    { seen: bed.source },
  );
  expect(condition(await bed.canary(), 'Ready')?.message).not.toContain('spec.allow');
  expect(await bed.get('apps/v1', 'Deployment', 'web')).toBeUndefined();
  expect(await bed.get('v1', 'ConfigMap', 'a')).toBeDefined();
});
