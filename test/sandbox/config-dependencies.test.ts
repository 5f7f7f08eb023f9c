import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { configReferences } from '../../src/release/release.ts';
import { imageOf, replicasOf } from '../objects.ts';
import { run } from './cli-run.ts';
import {
  canary,
  condition,
  configMap,
  createSource,
  deployment,
  eventually,
  failPrimary,
  follow,
  isNotIdle,
  statusOf,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

function secret(name: string, value: string): string {
  const metadata = { name, namespace: 'shop' };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { value } });
}

/** A workload whose pods take these configs, and the Secret `token`, by envFrom, and listen on this port. */
function workload(image: string, configs: readonly string[], { port = 8080, name = 'web' } = {}): string {
  const object = JSON.parse(deployment(image, { name })) as {
    spec: { template: { spec: { containers: Array<Record<string, unknown>> } } };
  };
  const [container] = object.spec.template.spec.containers;
  if (container) {
    container.ports = [{ containerPort: port }];
    container.envFrom = [
      ...configs.map((one) => ({ configMapRef: { name: one } })),
      { secretRef: { name: 'token' } },
    ];
  }
  return JSON.stringify(object);
}

async function dataOf(kind: string, name: string): Promise<unknown> {
  return ((await bed.get('v1', kind, name))?.data as { value?: unknown } | undefined)?.value;
}

async function imageOfWorkload(name: string): Promise<unknown> {
  return imageOf(await bed.get('apps/v1', 'Deployment', name));
}

async function targetPort(service: string): Promise<unknown> {
  const spec = (await bed.get('v1', 'Service', service))?.spec;
  return (spec as { ports?: Array<{ targetPort: unknown }> } | undefined)?.ports?.[0]?.targetPort;
}

/** Whether `web` is in this phase with no release under way. */
async function isAtRest(phase: string): Promise<boolean> {
  const status = statusOf(await bed.canary());
  return status.phase === phase && status.run === undefined;
}

async function isHeld(): Promise<boolean> {
  return condition(await bed.canary(), 'Held')?.status === 'True';
}

/** Names of what was written since the log was cleared, in order. */
function written(): string[] {
  return bed.sandbox.requests
    .all()
    .filter(({ method }) => method === 'PATCH')
    .map(({ path }) => path.split('/').at(-1) ?? '');
}

/** All files of one revision; `extra` is named by the workload only when it is among `configs`. */
function revision(number: number, value: string, configs: readonly string[], port = 8080) {
  return {
    'web.json': workload(`shop/web:${number}`, configs, { port }),
    'canary.json': canary({ spec: { service: { port: 80, targetPort: port } } }),
    'flags.json': configMap('flags', { value }),
    'extra.json': configMap('extra', { value }),
    'token.json': secret('token', value),
    'other.json': configMap('other', { value }),
  };
}

test('a revert restores config, template and port as one; the rest of the commit stays, and the loops never fight (S16)', async () => {
  await bed.commit('v1', revision(1, 'one', ['flags', 'extra']));
  await createSource(bed, { interval: '2s' });
  await bed.start();
  await eventually('v1', () => isAtRest('Initialized'));
  failPrimary(bed, 'shop/web:2');
  // `extra` is not named any more, so that head has it as an object of no Canary.
  await bed.commit('v2', revision(2, 'two', ['flags'], 9090));
  await eventually('v2 is held', isHeld);
  bed.sandbox.requests.clear();
  await eventually('v2 is reverted', () => isAtRest('Failed'));

  const order = written();
  const template = order.indexOf('web-primary');
  // `extra-primary` still is as the last-known-good wrote it.
  for (const copy of ['flags-primary', 'token-primary'])
    expect(order.slice(0, template), `${copy} is written before the template`).toContain(copy);
  expect(await imageOfWorkload('web-primary')).toBe('shop/web:1');
  expect(await dataOf('ConfigMap', 'flags-primary')).toBe('one');
  expect(await dataOf('ConfigMap', 'extra-primary')).toBe('one');
  expect(await dataOf('Secret', 'token-primary')).toBe(Buffer.from('one').toString('base64'));
  expect(await dataOf('ConfigMap', 'other')).toBe('two');
  await eventually(
    'the apex has the port of the last-known-good',
    async () => (await targetPort('web')) === 8080,
  );
  await eventually('its config is in force', async () => (await dataOf('ConfigMap', 'extra')) === 'one');
  await eventually('Reverted lists what stays', async () =>
    condition(await bed.canary(), 'Reverted')?.message.includes('stays as head says'),
  );
  const { message = '' } = condition(await bed.canary(), 'Reverted') ?? {};
  expect(message).toContain('ConfigMap shop/other');
  expect(message).not.toContain('ConfigMap shop/extra');

  await bed.pass(10_000);
  bed.sandbox.requests.clear();
  const polls = bed.git.requests();
  await eventually('20 polls', async () => bed.git.requests() - polls >= 40);
  expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);

  // What is in force counts, and not what head says.
  const place = ['--kubeconfig', bed.kubeconfigPath, '-n', 'shop'];
  expect(await run('diff', 'source/shop', ...place)).toMatchObject({
    code: 0,
    text: expect.stringContaining('no differences in'),
  });

  const says = (words: string) => async () =>
    condition(await bed.canary(), 'Reverted')?.message.includes(words);
  await bed.commit('more', { 'more.json': configMap('more', { value: 'new' }) });
  await eventually('head has more, and it is named', says('ConfigMap shop/more, ConfigMap shop/other'));
  await bed.commit('back', { 'other.json': configMap('other', { value: 'one' }) });
  await eventually('what is as before is named no more', async () => !(await says('shop/other')()));
  expect(await says('ConfigMap shop/more')()).toBe(true);
  expect(await isAtRest('Failed')).toBe(true);
  const status = (await bed.canary())?.status;
  const later = bed.git.requests();
  await eventually('20 more polls', async () => bed.git.requests() - later >= 40);
  expect((await bed.canary())?.status).toEqual(status);

  await bed.send('PATCH', '/api/v1/namespaces/shop/configmaps/extra', { data: { value: 'by hand' } });
  await eventually(
    'a foreign change goes back to what is in force',
    async () => (await dataOf('ConfigMap', 'extra')) === 'one',
  );

  await bed.commit('v3', { 'web.json': workload('shop/web:3', ['flags'], { port: 9090 }) });
  await eventually('v3', () => isAtRest('Succeeded'));
  await eventually('head is in force again', async () => (await dataOf('ConfigMap', 'extra')) === 'two');
  expect(await dataOf('ConfigMap', 'flags-primary')).toBe('two');
});

test('what stays is still named after a restart, and nothing is written for it', async () => {
  await bed.commit('v1', revision(1, 'one', ['flags']));
  await createSource(bed, { interval: '2s' });
  const first = await bed.start();
  await eventually('v1', () => isAtRest('Initialized'));
  failPrimary(bed, 'shop/web:2');
  await bed.commit('v2', revision(2, 'two', ['flags']));
  await eventually('Reverted lists what stays', async () =>
    condition(await bed.canary(), 'Reverted')?.message.includes('ConfigMap shop/other'),
  );
  await first.drain();
  const before = await bed.canary();

  await bed.start();
  const polls = bed.git.requests();
  await eventually('10 polls', async () => bed.git.requests() - polls >= 20);

  expect((await bed.canary())?.status).toEqual(before?.status);
});

test('config of a release under way stays its own while a newer revision waits for its end', async () => {
  await bed.commit('v1', revision(1, 'one', ['flags']));
  await createSource(bed, { interval: '2s' });
  await bed.start();
  await eventually('v1', () => isAtRest('Initialized'));
  failPrimary(bed, 'shop/web:2');
  await bed.commit('v2', revision(2, 'two', ['flags', 'extra']));
  await eventually('v2 is held', isHeld);
  const seen = follow(bed, (store) => {
    const web = store.get('apps/deployments', 'shop', 'web');
    const config = store.get('/configmaps', 'shop', 'extra')?.data as { value?: string } | undefined;
    const isIdle = replicasOf(web) === 0;
    return isIdle ? 'idle' : `${imageOf(web)} ${config?.value}`;
  });

  await bed.commit('v3', revision(3, 'three', ['flags']));
  await eventually('v3', () => isAtRest('Succeeded'));
  await eventually('head is in force again', async () => (await dataOf('ConfigMap', 'extra')) === 'three');

  expect([...seen]).toContain('shop/web:2 two');
  expect([...seen]).not.toContain('shop/web:2 three');
});

test('a config that two Canaries share is copied for each, also by a copy of the program that has not read Git yet', async () => {
  const both = (image: string, value: string) => ({
    'web.json': workload(image, ['flags']),
    'api.json': workload(image, ['flags'], { name: 'api' }),
    'flags.json': configMap('flags', { value }),
    'token.json': secret('token', 'one'),
  });
  await bed.commit('web alone', { ...both('shop/web:1', 'one'), 'api.json': null, 'canary.json': canary() });
  await createSource(bed, { interval: '2s' });
  const first = await bed.start();
  await eventually('web', () => isAtRest('Initialized'));
  expect(await dataOf('ConfigMap', 'flags-primary')).toBe('one');
  await bed.commit('api too', { ...both('shop/web:1', 'one'), 'canary-api.json': canary({ name: 'api' }) });
  await eventually('api', async () => statusOf(await bed.canary('api')).phase === 'Initialized');
  expect(await dataOf('ConfigMap', 'flags-api-primary')).toBe('one');
  await first.drain();
  await bed.git.close();
  await bed.send('DELETE', '/apis/apps/v1/namespaces/shop/deployments/api-primary');
  await bed.send('DELETE', '/api/v1/namespaces/shop/configmaps/flags-api-primary');
  const before = (await bed.get('v1', 'ConfigMap', 'flags-primary'))?.metadata.resourceVersion;

  await bed.start();
  await eventually('api is back from its record', () => bed.get('apps/v1', 'Deployment', 'api-primary'));

  expect(await dataOf('ConfigMap', 'flags-api-primary')).toBe('one');
  expect((await bed.get('v1', 'ConfigMap', 'flags-primary'))?.metadata.resourceVersion).toBe(before);
});

describe('a config that is named like another one and the target', () => {
  const named = { settings: 'common', 'settings-web': 'for web', 'settings-api': 'for api' };

  async function startWith(names: readonly string[]): Promise<void> {
    const target = (name: string) => workload('shop/web:1', ['settings', `settings-${name}`], { name });
    await bed.commit('v1', {
      ...Object.fromEntries(
        Object.entries(named).map(([name, value]) => [`${name}.json`, configMap(name, { value })]),
      ),
      ...Object.fromEntries(names.map((name) => [`${name}.json`, target(name)])),
      ...Object.fromEntries(names.map((name) => [`canary-${name}.json`, canary({ name })])),
      'token.json': secret('token', 'one'),
    });
    await createSource(bed);
    await bed.start();
    for (const name of names)
      await eventually(name, async () => statusOf(await bed.canary(name)).phase === 'Initialized');
  }

  /** What the pods of a primary read. */
  async function readBy(name: string): Promise<unknown[]> {
    const primary = await bed.get('apps/v1', 'Deployment', `${name}-primary`);
    const names = configReferences(primary as KubernetesObject)
      .filter(({ kind }) => kind === 'ConfigMap')
      .map((one) => one.name);
    return (await Promise.all(names.map((one) => dataOf('ConfigMap', one)))).sort();
  }

  test('keeps a copy of its own where two Canaries share the other one', async () => {
    await startWith(['web', 'api']);

    expect(await readBy('web')).toEqual(['common', 'for web']);
    expect(await readBy('api')).toEqual(['common', 'for api']);
  });

  test('hides neither copy: each one that is deleted comes back', async () => {
    await startWith(['web']);

    for (const name of ['settings-primary', 'settings-web-primary'])
      await bed.send('DELETE', `/api/v1/namespaces/shop/configmaps/${name}`);

    await eventually('both are back', async () => {
      const values = await readBy('web');
      return values.every((value) => value !== undefined);
    });
    expect(await readBy('web')).toEqual(['common', 'for web']);
  });
});
