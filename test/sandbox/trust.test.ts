import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiRequest } from '../../sandbox/api-server/request.ts';
import { commitFiles, createRepository } from '../../sandbox/git-server/git-repository.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { imageOf } from '../objects.ts';
import {
  canary,
  condition,
  deployment,
  eventually,
  sourceFor,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
let repositories: string;
beforeEach(async () => {
  bed = await startQuickBed();
  repositories = dirname(bed.repository);
  const metadata = { name: 'other' };
  await bed.send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
});
afterEach(() => bed.close());

/** A Source of another tenant, in its namespace `other`. */
async function createOther(
  spec: Record<string, unknown>,
  name = 'other',
  namespace = 'other',
): Promise<void> {
  const source = { ...sourceFor(bed, spec), metadata: { name, namespace } };
  const { status, body } = await bed.send('POST', sourcesIn(namespace), source);
  if (status !== 201) throw new Error(JSON.stringify(body));
}

/** What limits the Sources there is what the tests are about: their spec, and the rights of accounts. */
const trusted = ['shop', 'other'];

const sourcesIn = (namespace: string) => `/apis/holdfast.dev/v1alpha1/namespaces/${namespace}/sources`;
const otherSource = () => bed.get('holdfast.dev/v1alpha1', 'Source', 'other', 'other');
const workload = (name: string) => bed.get('apps/v1', 'Deployment', name);
const reasonOf = (object: KubernetesObject | undefined) => condition(object, 'Ready')?.reason;

/** Its own repository with the target of the Canary `shop/web`. */
async function repositoryWithTarget(image: string): Promise<string> {
  const repository = await createRepository(repositories, 'other');
  await commitFiles(repository, { subject: 'other', files: { 'web.json': deployment(image) } });
  return `${bed.git.url}/other.git`;
}

const shop = { 'web.json': deployment('shop/web:1'), 'canary.json': canary() };

describe("a Source that may not write a Canary's target does not speak for the Canary", () => {
  const account = 'system:serviceaccount:other:deployer';

  test.each([
    ['spec.allow', { allow: { namespaces: ['other'] } }, 'spec.allow.namespaces'],
    ['the rights of its account', { serviceAccountName: 'deployer' }, account],
  ])('by %s', async (_, confinement, told) => {
    bed.sandbox.authorize(({ user, namespace }) => user !== account || namespace === 'other');
    await createOther({ url: await repositoryWithTarget('evil'), ...confinement });
    await bed.commit('v1', shop);
    const app = await bed.start({ trustedSourceNamespaces: trusted });
    await bed.send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/canaries', JSON.parse(canary()));
    await eventually(
      'its Source says so',
      async () => condition(await otherSource(), 'Ready')?.message.includes(told),
      { seen: otherSource },
    );
    await bed.send('POST', sourcesIn('shop'), sourceFor(bed));
    await waitForPhase(bed, 'Initialized');
    await app.drain();

    await bed.start({ trustedSourceNamespaces: trusted });
    await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
    await waitForPhase(bed, 'Succeeded');
    expect(imageOf(await workload('web-primary'))).toBe('shop/web:2');
  });
});

test('the Source whose objects a target is one of speaks for its Canary after a restart, whoever is read first', async () => {
  await bed.commit('v1', shop);
  await bed.send('POST', sourcesIn('shop'), sourceFor(bed));
  const app = await bed.start({ trustedSourceNamespaces: trusted });
  await waitForPhase(bed, 'Initialized');
  await app.drain();
  // Listed before the owner, read at once, and as free to write as that one, which cannot be read.
  await createOther({ url: await repositoryWithTarget('shop/web:other') }, 'another', 'shop');
  const away = `${bed.git.url}/away.git`;
  await bed.send('PATCH', `${sourcesIn('shop')}/shop`, { spec: { url: away } });

  await bed.start({ trustedSourceNamespaces: trusted });

  const another = () => bed.get('holdfast.dev/v1alpha1', 'Source', 'another');
  await eventually('the other one was read', async () => statusOf(await another()).head !== undefined, {
    seen: another,
  });
  await bed.pass(20_000);
  expect(statusOf(await bed.canary()).phase).toBe('Initialized');
  expect(imageOf(await workload('web'))).toBe('shop/web:1');
  await bed.send('PATCH', `${sourcesIn('shop')}/shop`, { spec: { url: `${bed.git.url}/shop.git` } });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  expect(imageOf(await workload('web-primary'))).toBe('shop/web:2');
});

describe('a Source that cannot be read and may not write in a namespace keeps no new Canary there waiting', () => {
  const account = 'system:serviceaccount:other:deployer';
  const confined = { allow: { namespaces: ['other'] } };

  test.each<[string, Record<string, unknown>]>([
    ['suspended', { suspend: true, ...confined }],
    ['invalid', { windows: [{ kind: 'allow', schedule: '61 * * * *', duration: '1h' }], ...confined }],
    ['unreachable', { url: 'http://127.0.0.1:1/away.git', ...confined }],
    ['of other kinds', { suspend: true, allow: { kinds: ['ConfigMap'] } }],
    ['with an account without rights there', { suspend: true, serviceAccountName: 'deployer' }],
  ])('%s', async (_, spec) => {
    bed.sandbox.authorize(({ user, namespace }) => user !== account || namespace === 'other');
    await createOther(spec);
    await bed.send('POST', '/apis/apps/v1/namespaces/shop/deployments', JSON.parse(deployment('shop/web:1')));
    await bed.send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/canaries', JSON.parse(canary()));
    await bed.start({ trustedSourceNamespaces: trusted });
    await waitForPhase(bed, 'Initialized');
  });

  test('without an account, in another namespace', async () => {
    await createOther({ suspend: true });
    await bed.send('POST', '/apis/apps/v1/namespaces/shop/deployments', JSON.parse(deployment('shop/web:1')));
    await bed.send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/canaries', JSON.parse(canary()));
    await bed.start({ trustedSourceNamespaces: [] });
    await waitForPhase(bed, 'Initialized');
  });

  test('one that may write there does', async () => {
    await createOther({ suspend: true, allow: { namespaces: ['shop'] } });
    await bed.send('POST', '/apis/apps/v1/namespaces/shop/deployments', JSON.parse(deployment('shop/web:1')));
    await bed.send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/canaries', JSON.parse(canary()));
    await bed.start({ trustedSourceNamespaces: trusted });
    await eventually('it waits', async () => reasonOf(await bed.canary()) === 'SourceNotRead', {
      seen: bed.canary,
    });
  });
});

test('a kind of a tenant that Holdfast may not watch leaves it ready for everybody else', async () => {
  const isRefused = ({ userAgent, path }: ApiRequest) =>
    userAgent.startsWith('holdfast/') && path.endsWith('/networkpolicies');
  bed.sandbox.fault((request) => (isRefused(request) ? { code: 403 } : undefined));
  const metadata = { name: 'closed', namespace: 'shop' };
  const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec: {} };
  const commit = await bed.commit('v1', { ...shop, 'policy.json': JSON.stringify(policy) });
  await bed.send('POST', sourcesIn('shop'), sourceFor(bed));
  const app = await bed.start();
  const isApplied = async () => statusOf(await bed.source()).appliedCommit === commit;
  await eventually('it is applied', isApplied);
  await waitForPhase(bed, 'Initialized');
  const answer = await fetch(`${app.url}/readyz`);
  expect([answer.status, await answer.text()]).toEqual([200, 'ready, leading\n']);
  const metrics = await (await fetch(`${app.url}/metrics`)).text();
  expect(metrics).toContain('holdfast_watch_healthy{kind="NetworkPolicy",own="false"} 0');
  expect(metrics).toContain('holdfast_watch_healthy{kind="Canary",own="true"} 1');
});

test('kinds that nobody serves, or that a Source may not write, are not watched for it', async () => {
  bed.sandbox.authorize(({ user, resource }) => user === '' || resource !== 'networkpolicies');
  const inShop = (apiVersion: string, kind: string) =>
    JSON.stringify({ apiVersion, kind, metadata: { name: 'a', namespace: 'shop' }, spec: {} });
  await bed.commit('v1', {
    'config.json': inShop('v1', 'ConfigMap').replace(',"spec":{}', ''),
    'policy.json': inShop('networking.k8s.io/v1', 'NetworkPolicy'),
    'none.json': inShop('example.com/v1', 'Imaginary'),
  });
  await bed.send('POST', sourcesIn('shop'), sourceFor(bed, { serviceAccountName: 'deployer' }));
  const app = await bed.start();
  const failures = async () => {
    const found = condition(await bed.source(), 'Applied');
    return /Imaginary/.test(found?.message ?? '') && /NetworkPolicy/.test(found?.message ?? '') && found;
  };
  await eventually('two are refused', failures, { seen: bed.source });

  const watched = async () => {
    const metrics = await (await fetch(`${app.url}/metrics`)).text();
    return [...metrics.matchAll(/holdfast_watch_healthy\{kind="(\w+)",own="false"\}/g)].map(
      ([, kind]) => kind,
    );
  };

  await eventually('the others are watched', async () => (await watched()).includes('ConfigMap'), {
    seen: watched,
  });
  expect((await watched()).filter((kind) => kind === 'NetworkPolicy' || kind === 'Imaginary')).toEqual([]);
});

test('what a deleted Source left belongs to the next one that holds it, and what is in an ApplySet of kubectl does not', async () => {
  const configMap = (name: string, level: string) => ({
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, data: { level } },
  });
  const inSet = {
    ...configMap('b', 'old').metadata,
    labels: { 'applyset.kubernetes.io/part-of': 'applyset-x-v1' },
  };
  const path = '/api/v1/namespaces/shop/configmaps';
  await bed.send('POST', `${path}?fieldManager=kubectl`, { ...configMap('b', 'old'), metadata: inSet });
  await bed.commit('v1', { 'a.json': JSON.stringify(configMap('a', 'old')) });
  await createOther({}, 'former', 'shop');
  await bed.start();
  const applied = (name: string) => async () => bed.get('v1', 'ConfigMap', name);
  await eventually('it is applied', applied('a'));
  await bed.send('DELETE', `${sourcesIn('shop')}/former`);
  const files = Object.fromEntries(
    ['a', 'b'].map((name) => [`${name}.json`, JSON.stringify(configMap(name, 'new'))]),
  );
  await bed.commit('v2', files);

  await bed.send('POST', sourcesIn('shop'), sourceFor(bed));

  const level = async (name: string) => ((await applied(name)())?.data as { level?: string })?.level;
  await eventually('it is adopted', async () => (await level('a')) === 'new', { seen: bed.source });
  const refused = async () => condition(await bed.source(), 'Applied');
  await eventually(
    'the other one is refused',
    async () => (await refused())?.reason === 'OwnedByAnotherSource',
    {
      seen: refused,
    },
  );
  expect(await level('b')).toBe('old');
});

test.each([
  ['by spec.allow', { allow: { namespaces: ['other'] } }],
  ['by its account, which may only read it', { serviceAccountName: 'deployer' }],
])('a Source keeps no object from being pruned that it may not write %s', async (_, confinement) => {
  const account = 'system:serviceaccount:other:deployer';
  bed.sandbox.authorize(({ user, namespace }) => user !== account || namespace === 'other');
  const configMap = (name: string) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' } });
  const repository = await createRepository(repositories, 'other');
  await commitFiles(repository, { subject: 'other', files: { 'b.json': configMap('b') } });
  const url = `${bed.git.url}/other.git`;
  await createOther({ url, ...confinement });
  await bed.commit('first', { 'a.json': configMap('a'), 'b.json': configMap('b') });
  await bed.send('POST', sourcesIn('shop'), sourceFor(bed, { prune: true }));
  await bed.start({ trustedSourceNamespaces: trusted });
  await eventually(
    'the other one was read',
    async () => condition(await otherSource(), 'Ready')?.status === 'False',
  );
  await eventually('b is there', () => bed.get('v1', 'ConfigMap', 'b'));

  await bed.commit('without b', { 'b.json': null });

  await eventually('b is gone', async () => !(await bed.get('v1', 'ConfigMap', 'b')), {
    seen: bed.source,
  });
});

describe('what left Git and another Source holds is deleted without another commit', () => {
  const configMap = (name: string) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' } });

  /** Of a Source that prunes; the other one still names it. */
  async function leftHere(spec: Record<string, unknown>, before = () => {}): Promise<string> {
    const repository = await createRepository(repositories, 'other');
    await commitFiles(repository, { subject: 'other', files: { 'b.json': configMap('b') } });
    await bed.commit('first', { 'a.json': configMap('a'), 'b.json': configMap('b') });
    await bed.send('POST', sourcesIn('shop'), sourceFor(bed, { prune: true }));
    await bed.start({ trustedSourceNamespaces: trusted });
    await eventually('b is there', () => bed.get('v1', 'ConfigMap', 'b'));
    // Whoever applies it first keeps it.
    await createOther({ url: `${bed.git.url}/other.git`, ...spec });
    await eventually('the other one was read', async () => condition(await otherSource(), 'Applied'));
    before();
    await bed.commit('without b', { 'b.json': null });
    const told = async () =>
      condition(await bed.source(), 'Pruned')?.message.includes('other/other holds it');
    await eventually('it is told who holds it', told, { seen: bed.source });
    return repository;
  }

  const untilGone = () =>
    eventually('b is gone', async () => !(await bed.get('v1', 'ConfigMap', 'b')), { seen: bed.source });

  test('once the API server answers whether that one may write it', async () => {
    const account = 'system:serviceaccount:other:deployer';
    bed.sandbox.authorize(({ user, namespace }) => user !== account || namespace === 'other');
    let answers = () => {};
    await leftHere({ serviceAccountName: 'deployer' }, () => {
      answers = bed.sandbox.fault(({ path }) =>
        path.endsWith('/selfsubjectaccessreviews') ? { code: 500 } : undefined,
      );
    });

    answers();

    await untilGone();
  });

  test('once that one holds it no more', async () => {
    const repository = await leftHere({});

    await commitFiles(repository, { subject: 'without b', files: { 'b.json': null } });

    await untilGone();
  });
});
