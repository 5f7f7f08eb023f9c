import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { imageOf } from '../objects.ts';
import {
  canary,
  condition,
  deployment,
  eventually,
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

/** Deployment web whose pods read variables from ConfigMap settings. */
function reading(image: string): string {
  const object = JSON.parse(deployment(image));
  object.spec.template.spec.containers[0].envFrom = [{ configMapRef: { name: 'settings' } }];
  return JSON.stringify(object);
}

function settings(data: Record<string, string>, more: object = {}): string {
  const metadata = { name: 'settings', namespace: 'shop' };
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data, ...more });
}

/** Uids of the pods of a workload. */
async function podsOf(workload: RegExp): Promise<string[]> {
  const { body } = await bed.send('GET', '/api/v1/namespaces/shop/pods');
  const pods = (body as { items: KubernetesObject[] }).items.filter(
    ({ metadata }) => workload.test(metadata.name) && !metadata.deletionTimestamp,
  );
  return pods.map(({ metadata }) => metadata.uid ?? '');
}

const primaryPods = () => podsOf(/^web-primary-/);

async function started(files: Record<string, string>): Promise<void> {
  await bed.commit('v1', files);
  await runUntilInitialized(bed);
}

async function succeededAfter(change: () => Promise<string>): Promise<void> {
  const commit = await change();
  await eventually(
    'the release has ended well',
    async () => {
      const status = statusOf(await bed.canary());
      return status.lastPromotedCommit === commit && status.phase === 'Succeeded' && !status.run;
    },
    { seen: async () => statusOf(await bed.canary()) },
  );
}

test('a change of config alone reaches pods that read it as variables: both copies get new ones', async () => {
  await started({
    'web.json': reading('shop/web:1'),
    'settings.json': settings({ mode: 'one' }),
    'canary.json': canary({ analysis: { iterations: 1 } }),
  });
  const before = await primaryPods();
  await succeededAfter(() => bed.commit('mode two', { 'settings.json': settings({ mode: 'two' }) }));
  const after = await primaryPods();
  expect(after).toHaveLength(2);
  expect(after.filter((uid) => before.includes(uid))).toEqual([]);
  expect(await bed.get('v1', 'ConfigMap', 'settings-primary')).toMatchObject({ data: { mode: 'two' } });

  await bed.commit('unrelated', { 'other.json': settings({ a: 'b' }).replace('"settings"', '"other"') });
  await eventually('it is applied', () => bed.get('v1', 'ConfigMap', 'other'));
  await bed.pass(10_000);
  expect(await primaryPods()).toEqual(after);
});

test('a ConfigMap or Secret that has the name of a copy by chance stays as it is', async () => {
  const others = [
    { kind: 'ConfigMap', metadata: { name: 'settings-primary', namespace: 'shop' }, data: { of: 'another' } },
    {
      kind: 'Secret',
      metadata: { name: 'database-primary', namespace: 'shop' },
      data: { of: 'YW5vdGhlcg==' },
    },
  ];
  for (const { kind, ...object } of others)
    await bed.send('POST', `/api/v1/namespaces/shop/${kind.toLowerCase()}s`, {
      apiVersion: 'v1',
      kind,
      ...object,
    });
  const othersNow = () => Promise.all(others.map(({ kind, metadata }) => bed.get('v1', kind, metadata.name)));
  const before = await othersNow();

  await started({
    'web.json': deploymentWithConfig('shop/web:1'),
    'config.json': configWith('info'),
    'canary.json': canary({ analysis: { iterations: 1 } }),
  });
  await succeededAfter(() => bed.commit('debug', { 'config.json': configWith('debug') }));

  expect(await othersNow()).toEqual(before);
  expect(await bed.get('v1', 'ConfigMap', 'settings-web-primary')).toMatchObject({
    data: { level: 'debug' },
  });
  expect(await bed.get('v1', 'Secret', 'database-web-primary')).toBeDefined();
  const primary = await bed.get('apps/v1', 'Deployment', 'web-primary');
  const { template } = (primary?.spec ?? {}) as {
    template?: { spec: { containers: Array<{ envFrom?: unknown }> } };
  };
  expect(template?.spec.containers[0]?.envFrom).toEqual([
    { configMapRef: { name: 'settings-web-primary' } },
    { secretRef: { name: 'database-web-primary' } },
  ]);
});

test('a change of config in the middle of an analysis gives the canary new pods', async () => {
  await started({
    'web.json': reading('shop/web:1'),
    'settings.json': settings({ mode: 'one' }),
    'canary.json': canary({ analysis: { iterations: 2 } }),
  });
  await bed.commit('mode two', { 'settings.json': settings({ mode: 'two' }) });
  const first = await eventually('the canary is being analysed', async () => {
    const pods = await podsOf(/^web-(?!primary)/);
    return pods.length === 2 && statusOf(await bed.canary()).iterations === 1 && pods;
  });
  await succeededAfter(async () => {
    const commit = await bed.commit('mode three', { 'settings.json': settings({ mode: 'three' }) });
    await eventually('the canary has other pods', async () => {
      const pods = await podsOf(/^web-(?!primary)/);
      return pods.length > 0 && pods.every((uid) => !first.includes(uid));
    });
    return commit;
  });
});

test('binary data, immutable objects and objects that opt out are treated as Flagger users expect', async () => {
  const optOut = { 'flagger.app/config-tracking': 'disabled' };
  const more = { binaryData: { logo: 'AAEC' }, immutable: true };
  const web = JSON.parse(reading('shop/web:1'));
  web.spec.template.spec.volumes = [
    {
      name: 'all',
      projected: {
        sources: [{ configMap: { name: 'shared' } }, { configMap: { name: 'absent', optional: true } }],
      },
    },
  ];
  web.spec.template.spec.initContainers = [
    { name: 'init', image: 'shop/init:1', envFrom: [{ secretRef: { name: 'login' } }] },
  ];
  await started({
    'web.json': JSON.stringify(web),
    'settings.json': settings({ mode: 'one' }, more),
    'shared.json': JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'shared', namespace: 'shop', annotations: optOut },
      data: { a: 'b' },
    }),
    'login.json': JSON.stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'login', namespace: 'shop' },
      stringData: { password: 'x' },
    }),
    'canary.json': canary(),
  });
  const copy = await bed.get('v1', 'ConfigMap', 'settings-primary');
  expect(copy).toMatchObject({ data: { mode: 'one' }, binaryData: { logo: 'AAEC' } });
  expect(copy).not.toHaveProperty('immutable');
  expect(copy?.metadata.ownerReferences).toMatchObject([{ kind: 'Canary', name: 'web', controller: true }]);
  expect(await bed.get('v1', 'Secret', 'login-primary')).toMatchObject({
    data: { password: Buffer.from('x').toString('base64') },
  });
  expect(await bed.get('v1', 'ConfigMap', 'shared-primary')).toBeUndefined();
  const primary = await bed.get('apps/v1', 'Deployment', 'web-primary');
  expect(primary?.spec).toMatchObject({
    template: {
      spec: {
        initContainers: [{ envFrom: [{ secretRef: { name: 'login-primary' } }] }],
        volumes: [
          {
            projected: {
              sources: [{ configMap: { name: 'shared' } }, { configMap: { name: 'absent-primary' } }],
            },
          },
        ],
      },
    },
  });
});

test('optional config that a release brought is not left for the primary when that release is reverted', async () => {
  const web = reading('shop/web:1').replace('"name":"settings"', '"name":"settings","optional":true');
  await started({ 'web.json': web, 'canary.json': canary({ analysis: { iterations: 1 } }) });
  const copyOfPrimary = () => bed.get('v1', 'ConfigMap', 'settings-primary');
  bed.sandbox.behaviour.rule((pod) => {
    const isPrimary = pod.metadata.name.startsWith('web-primary-');
    const isBroken = bed.sandbox.store.get('/configmaps', 'shop', 'settings-primary') !== undefined;
    return isPrimary && isBroken ? { failure: 'CrashLoopBackOff' } : undefined;
  });

  await bed.commit('v2', { 'settings.json': settings({ mode: 'broken' }) });
  await eventually('the primary got it', copyOfPrimary);
  await waitForPhase(bed, 'Failed');

  expect(await copyOfPrimary()).toBeUndefined();
  expect(await bed.get('v1', 'ConfigMap', 'settings')).toMatchObject({ data: { mode: 'broken' } });
  await bed.pass(10_000);
  expect(await copyOfPrimary()).toBeUndefined();
  expect(statusOf(await bed.canary()).phase).toBe('Failed');
});

test('config with another name in each release leaves no copies behind of releases that are not kept', async () => {
  const named = (number: number) => ({
    'web.json': reading('shop/web:1').replace('"name":"settings"', `"name":"settings-${number}"`),
    'settings.json': settings({ mode: `${number}` }).replace('"settings"', `"settings-${number}"`),
  });
  await started({ ...named(1), 'canary.json': canary({ spec: { skipAnalysis: true } }) });
  for (const number of [2, 3, 4, 5, 6, 7])
    await succeededAfter(() => bed.commit(`v${number}`, named(number)));

  const copies = () =>
    bed.sandbox.store
      .list('/configmaps', 'shop')
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.endsWith('-primary'))
      .sort();
  const kept = [3, 4, 5, 6, 7].map((number) => `settings-${number}-primary`);
  await eventually('the older copies are gone', async () => copies().length <= kept.length, {
    seen: async () => copies(),
  });
  expect(copies()).toEqual(kept);
});

/** Secret login of somebody else, as an operator that rotates credentials writes it. */
async function rotate(password: string, annotations: Record<string, string> = {}): Promise<void> {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'login', namespace: 'shop', annotations },
    stringData: { password },
  };
  const path = '/api/v1/namespaces/shop/secrets/login?fieldManager=operator&force=true';
  await bed.send('PATCH', path, secret, 'application/apply-patch+yaml');
}

/** Deployment web that reads its password from Secret login, which is in no repository. */
function loggingIn(image: string): string {
  const object = JSON.parse(deployment(image));
  object.spec.template.spec.containers[0].envFrom = [{ secretRef: { name: 'login' } }];
  return JSON.stringify(object);
}

async function copiedPassword(): Promise<string | undefined> {
  const copy = (await bed.get('v1', 'Secret', 'login-primary')) as
    | { data?: Record<string, string> }
    | undefined;
  return copy?.data?.password && Buffer.from(copy.data.password, 'base64').toString('utf8');
}

const statusNow = async () => statusOf(await bed.canary());

test('a Secret that is in no repository starts a release of the same commit when it changes', async () => {
  await rotate('one');
  await started({
    'web.json': loggingIn('shop/web:1'),
    'canary.json': canary({ analysis: { iterations: 1 } }),
  });
  const first = await statusNow();
  const before = await primaryPods();
  expect(await copiedPassword()).toBe('one');

  await rotate('two');
  await eventually('the release has ended well', async () => {
    const { history, run, phase } = await statusNow();
    return (history as unknown[] | undefined)?.length === 1 && !run && phase === 'Succeeded';
  });
  expect(await copiedPassword()).toBe('two');
  expect((await primaryPods()).filter((uid) => before.includes(uid))).toEqual([]);
  const now = await statusNow();
  expect(now.lastPromotedCommit).toBe(first.lastPromotedCommit);
  expect(now.lastPromotedSpec).not.toBe(first.lastPromotedSpec);
  expect(JSON.stringify(now)).not.toContain('two"');
});

test('optional config that comes is not given to the primary before its release was tested, whatever copies are written', async () => {
  const create = (kind: string, name: string, data: Record<string, string>, annotations = {}) =>
    bed.send(
      'PATCH',
      `/api/v1/namespaces/shop/${kind.toLowerCase()}s/${name}?fieldManager=operator&force=true`,
      {
        ...{ apiVersion: 'v1', kind, metadata: { name, namespace: 'shop', annotations } },
        [kind === 'Secret' ? 'stringData' : 'data']: data,
      },
      'application/apply-patch+yaml',
    );
  const follow = { 'holdfast.dev/config-tracking': 'follow' };
  await create('Secret', 'login', { password: 'one' });
  await create('Secret', 'token', { value: 'one' }, follow);
  const web = JSON.parse(loggingIn('shop/web:1'));
  web.spec.template.spec.containers[0].envFrom.push(
    { secretRef: { name: 'token' } },
    { configMapRef: { name: 'settings', optional: true } },
  );
  const slow = canary({ analysis: { iterations: 100 } });
  await started({ 'web.json': JSON.stringify(web), 'canary.json': slow });

  await create('ConfigMap', 'settings', { mode: 'untested' });
  await waitForPhase(bed, 'Progressing');
  await create('Secret', 'token', { value: 'two' }, follow);
  await eventually('the token reaches the primary', async () => {
    const copy = (await bed.get('v1', 'Secret', 'token-primary')) as
      | { data?: { value?: string } }
      | undefined;
    return copy?.data?.value === Buffer.from('two').toString('base64');
  });

  expect(await bed.get('v1', 'ConfigMap', 'settings-primary')).toBeUndefined();
});

test('an optional copy that somebody deletes comes back without a release, also after a restart, and none comes of what is not tracked', async () => {
  const web = JSON.parse(
    reading('shop/web:1').replace('"name":"settings"', '"name":"settings","optional":true'),
  );
  web.spec.template.spec.containers[0].envFrom.push({ secretRef: { name: 'certificate', optional: true } });
  await bed.send('POST', '/api/v1/namespaces/shop/configmaps', JSON.parse(settings({ mode: 'one' })));
  await bed.commit('v1', { 'web.json': JSON.stringify(web), 'canary.json': canary() });
  const app = await runUntilInitialized(bed);
  const copied = async () => {
    const { metadata, data } = ((await bed.get('v1', 'ConfigMap', 'settings-primary')) ?? {
      metadata: {},
    }) as {
      metadata: { uid?: string };
      data?: { mode?: string };
    };
    return { uid: metadata.uid, mode: data?.mode };
  };
  const { uid } = await copied();
  expect(uid).toBeDefined();
  await bed.send('DELETE', '/api/v1/namespaces/shop/configmaps/settings-primary');
  await eventually('the copy is back', async () => (await copied()).mode === 'one');
  expect((await copied()).uid).not.toBe(uid);
  await app.drain();
  await bed.send('DELETE', '/api/v1/namespaces/shop/configmaps/settings-primary');
  await bed.start();
  await eventually('the copy is back after a restart', async () => (await copied()).mode === 'one');
  const data = { '.dockerconfigjson': 'e30=' };
  await bed.send('POST', '/api/v1/namespaces/shop/secrets', {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'certificate', namespace: 'shop' } },
    ...{ type: 'kubernetes.io/dockerconfigjson', data },
  });
  await bed.pass(10_000);
  const status = await statusNow();
  expect({ phase: status.phase, history: status.history ?? [] }).toEqual({
    phase: 'Initialized',
    history: [],
  });
  expect(condition(await bed.canary(), 'Ready')?.status).toBe('True');
  expect(await bed.get('v1', 'Secret', 'certificate-primary')).toBeUndefined();
});

test('a bad Secret is stopped by the analysis, and the primary keeps the old one until it is put right', async () => {
  await rotate('one');
  await started({
    'web.json': loggingIn('shop/web:1'),
    'canary.json': canary({ analysis: { iterations: 1 } }),
  });
  const heal = bed.sandbox.behaviour.rule((pod) =>
    pod.metadata.name.startsWith('web-primary-') ? undefined : { failure: 'CrashLoopBackOff' },
  );
  await rotate('wrong');
  await waitForPhase(bed, 'Failed');
  expect(await copiedPassword()).toBe('one');
  heal();
  await rotate('three');
  await waitForPhase(bed, 'Succeeded');
  expect(await copiedPassword()).toBe('three');
});

test('a Secret that is made anew with another type reaches the primary, also over a copy that somebody made immutable', async () => {
  const secrets = '/api/v1/namespaces/shop/secrets';
  const login = (type: string, password: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'login', namespace: 'shop' },
    type,
    stringData: { username: 'ada', password },
  });
  await bed.send('POST', secrets, login('Opaque', 'one'));
  await started({
    'web.json': loggingIn('shop/web:1'),
    'canary.json': canary({ analysis: { iterations: 1 } }),
  });
  const immutable = { immutable: true };
  await bed.send('PATCH', `${secrets}/login-primary`, immutable);

  await bed.send('DELETE', `${secrets}/login`);
  await bed.send('POST', secrets, login('kubernetes.io/basic-auth', 'two'));

  await waitForPhase(bed, 'Succeeded');
  expect(await copiedPassword()).toBe('two');
  expect(await bed.get('v1', 'Secret', 'login-primary')).toMatchObject({ type: 'kubernetes.io/basic-auth' });
});

test.each([
  ['that earlier releases used', loggingIn],
  ['that the release brings', deployment],
])(
  'a Secret %s, opts out, and is deleted during the analysis keeps its name in the primary',
  async (_, first) => {
    await rotate('one', { 'flagger.app/config-tracking': 'disabled' });
    await started({
      'web.json': first('shop/web:1'),
      'canary.json': canary({ analysis: { iterations: 1 } }),
    });
    await bed.commit('v2', { 'web.json': loggingIn('shop/web:2') });
    await waitForPhase(bed, 'Progressing');
    await bed.send('DELETE', '/api/v1/namespaces/shop/secrets/login');
    const primary = await eventually('v2 is written to the primary', async () => {
      const found = await bed.get('apps/v1', 'Deployment', 'web-primary');
      return imageOf(found) === 'shop/web:2' && found;
    });
    expect(JSON.stringify(primary.spec)).toContain('"secretRef":{"name":"login"}');
  },
);

test('many rotations leave the records of older commits alone', async () => {
  await rotate('0');
  const analysis = { iterations: 1, interval: '100ms' };
  const spec = { skipAnalysis: true, postPromotion: { successThreshold: 0 } };
  await started({ 'web.json': loggingIn('shop/web:1'), 'canary.json': canary({ analysis, spec }) });
  const first = await statusNow();
  await succeededAfter(() => bed.commit('v2', { 'web.json': loggingIn('shop/web:2') }));
  for (const password of ['1', '2', '3', '4', '5', '6']) {
    await rotate(password);
    await eventually(`${password} is promoted`, async () => {
      const { run, phase } = await statusNow();
      return (await copiedPassword()) === password && phase === 'Succeeded' && !run;
    });
  }
  const { body } = await bed.send('GET', '/api/v1/namespaces/shop/secrets');
  const digests = (body as { items: KubernetesObject[] }).items.map(
    ({ metadata }) => metadata.annotations?.['holdfast.dev/digest'],
  );
  expect(digests).toContain(first.lastPromotedSpec);
});

test.each(['required', 'optional'])(
  'a Secret outside Git that is to be followed reaches the primary at once, without a release: %s',
  async (kind) => {
    const isOptional = kind === 'optional';
    const follow = { 'holdfast.dev/config-tracking': 'follow' };
    if (!isOptional) await rotate('one', follow);
    const web = loggingIn('shop/web:1').replace('"name":"login"', `"name":"login","optional":${isOptional}`);
    await started({ 'web.json': web, 'canary.json': canary({ analysis: { iterations: 1 } }) });
    const before = await primaryPods();
    expect(await copiedPassword()).toBe(isOptional ? undefined : 'one');
    for (const password of ['two', 'three']) {
      await rotate(password, follow);
      await eventually(`the primary has ${password}`, async () => (await copiedPassword()) === password);
    }
    const { phase, history } = await statusNow();
    expect({ phase, history: history ?? [] }).toEqual({ phase: 'Initialized', history: [] });
    expect(await primaryPods()).toEqual(before);

    await rotate('four');
    await eventually('one that is not followed any more is a release', async () => {
      const status = await statusNow();
      return (
        (status.history as unknown[] | undefined)?.length === 1 && status.phase === 'Succeeded' && !status.run
      );
    });
    expect(await copiedPassword()).toBe('four');
  },
);
