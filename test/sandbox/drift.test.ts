import { createServer } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type KubernetesObject, partOfLabel } from '../../src/api/kubernetes.ts';
import { imageOf } from '../objects.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  notesOf,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const configMaps = '/api/v1/namespaces/shop/configmaps';
const deployments = '/apis/apps/v1/namespaces/shop/deployments';

function configMap(level: string, annotations: Record<string, string> = {}, more: object = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'shop', annotations },
    data: { level },
    ...more,
  });
}

function httpRoute(): string {
  return JSON.stringify({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { parentRefs: [{ name: 'gateway' }], rules: [{ backendRefs: [{ name: 'web', port: 80 }] }] },
  });
}

async function follow(files: Record<string, string>, spec: Record<string, unknown> = {}): Promise<void> {
  const commit = await bed.commit('first', files);
  await createSource(bed, spec);
  await bed.start();
  await eventually('it is applied', async () => statusOf(await bed.source()).appliedCommit === commit, {
    seen: bed.source,
  });
}

async function edit(path: string, body: object, manager = 'kubectl-edit'): Promise<void> {
  const { status } = await bed.send('PATCH', `${path}?fieldManager=${manager}`, body);
  expect(status).toBe(200);
}

const live = () => bed.get('v1', 'ConfigMap', 'a');
const level = (object: KubernetesObject | undefined) =>
  (object?.data as { level?: string } | undefined)?.level;
const replicas = async () => {
  const { spec } = (await bed.get('apps/v1', 'Deployment', 'web')) as unknown as {
    spec: { replicas: number };
  };
  return spec.replicas;
};

function untilDrifted(wanted: RegExp): Promise<string> {
  const told = async () => {
    const found = condition(await bed.source(), 'Drifted');
    return `${found?.status} ${found?.reason} ${found?.message}`;
  };
  return eventually(
    `Drifted says ${wanted}`,
    async () => {
      const text = await told();
      return wanted.test(text) && text;
    },
    { seen: told },
  );
}

function untilLevel(wanted: string): Promise<boolean> {
  return eventually(`level ${wanted}`, async () => level(await live()) === wanted, { seen: live });
}

describe('what somebody else changed', () => {
  test('is put back at once, and told with who and when; no poll of Git is needed for it', async () => {
    await follow({ 'a.json': configMap('info') }, { interval: '1h' });
    await bed.git.close();
    await edit(`${configMaps}/a`, { data: { level: 'debug' } });
    await untilLevel('info');
    expect(await untilDrifted(/Corrected/)).toMatch(
      /^False Corrected ConfigMap shop\/a: \.data\.level \(kubectl-edit at \d{4}-.*; corrected at/,
    );
    await edit(`${configMaps}/a`, { data: { level: null } });
    await untilLevel('info');
    // Of what was taken away the API server keeps no manager.
    await untilDrifted(/a: data; corrected at/);
    const { body } = await bed.send('GET', '/apis/events.k8s.io/v1/namespaces/shop/events');
    const reasons = (body as { items: Array<{ reason: string }> }).items.map(({ reason }) => reason);
    expect(reasons).toContain('DriftCorrected');
  });

  test('is put back while Git answers nothing within spec.timeout', async () => {
    await follow({ 'a.json': configMap('info') }, { interval: '1s', timeout: '5s' });
    const port = Number(new URL(bed.git.url).port);
    await bed.git.close();
    const silent = createServer().listen(port, '127.0.0.1');
    try {
      await eventually(
        'Git is missed',
        async () => condition(await bed.source(), 'Fetched')?.reason === 'Timeout',
      );
      await edit(`${configMaps}/a`, { data: { level: 'debug' } });
      await untilLevel('info');
      expect(condition(await bed.source(), 'Fetched')?.reason).toBe('Timeout');
    } finally {
      silent.close();
    }
  });

  test('is put back while head cannot be read', async () => {
    const cluster = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'cluster' }, data: { x: 'y' } };
    expect((await bed.send('POST', configMaps, cluster)).status).toBe(201);
    const substitute = { from: [{ kind: 'ConfigMap', name: 'cluster' }] };
    await follow({ 'a.json': configMap('info') }, { interval: '1s', substitute });
    await bed.send('DELETE', `${configMaps}/cluster`);
    const reason = async () => condition(await bed.source(), 'Ready')?.reason;
    await eventually('the variables are missed', async () => (await reason()) === 'VariablesNotFound');

    await edit(`${configMaps}/a`, { data: { level: 'debug' } });

    await untilLevel('info');
    expect(await reason()).toBe('VariablesNotFound');
  });

  test('is made anew where it was deleted', async () => {
    await follow({ 'a.json': configMap('info') }, { interval: '1h' });
    await bed.send('DELETE', `${configMaps}/a`);
    await untilLevel('info');
    await untilDrifted(/a: was deleted/);
  });

  test('is made anew where its namespace was deleted and somebody makes that again', async () => {
    const team = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } };
    const teamMaps = '/api/v1/namespaces/team/configmaps';
    const held = { name: 'held', namespace: 'team', finalizers: ['example.com/hold'] };
    await bed.send('POST', '/api/v1/namespaces', team);
    await bed.send('POST', teamMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: held });
    await bed.commit('first', { 'a.json': configMap('info').replace('"shop"', '"team"') });
    await createSource(bed, { interval: '24h' });
    await bed.start({ trustedSourceNamespaces: ['shop'] });
    const there = () => bed.get('v1', 'ConfigMap', 'a', 'team');
    const uid = (await eventually('it is applied', there, { seen: bed.source })).metadata.uid;
    await bed.send('DELETE', '/api/v1/namespaces/team');
    const applied = async () => condition(await bed.source(), 'Applied')?.reason;
    await eventually('it is refused', async () => (await applied()) === 'Forbidden', { seen: bed.source });

    await bed.send('PATCH', `${teamMaps}/held`, { metadata: { finalizers: null } });
    await eventually('team is gone', async () => !bed.sandbox.store.get('/namespaces', undefined, 'team'));
    await bed.send('POST', '/api/v1/namespaces', team);

    const again = await eventually('it is there again', there, { seen: bed.source });
    expect(again.metadata.uid).not.toBe(uid);
  });

  test('is put back where it adds to an element of a list that has one owner', async () => {
    await follow({ 'route.json': httpRoute() }, { interval: '1h' });
    const path = '/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/web';
    const rules = async () => (await bed.get('gateway.networking.k8s.io/v1', 'HTTPRoute', 'web'))?.spec;
    const asInGit = await rules();
    const [rule] = (asInGit as { rules: object[] }).rules;
    await edit(path, { spec: { rules: [{ ...rule, timeouts: { request: '1s' } }] } });
    await eventually('the rules are as in Git', async () => isDeepStrictEqual(await rules(), asInGit), {
      seen: rules,
    });
    expect(await untilDrifted(/web/)).toMatch(
      /^False Corrected HTTPRoute shop\/web: \.spec\.rules \(kubectl-edit at /,
    );
  });

  test('is no drift where it is what Git says, too, and is written once at most', async () => {
    await follow({ 'a.json': configMap('info') }, { interval: '1h' });
    const version = async () => (await live())?.metadata.resourceVersion;
    await edit(`${configMaps}/a`, { data: { level: 'debug' } });
    await untilDrifted(/Corrected/);
    const path = `${configMaps}/a?fieldManager=kubectl&force=true`;
    const { body } = await bed.send(
      'PATCH',
      path,
      JSON.parse(configMap('info')),
      'application/apply-patch+yaml',
    );
    expect(level(body as KubernetesObject)).toBe('info');
    await bed.pass(5_000);
    const before = await version();
    await bed.pass(60_000);
    expect(await version()).toBe(before);
  });

  test('stays where it adds to what Git says', async () => {
    await follow({ 'a.json': configMap('info') });
    await edit(`${configMaps}/a`, { data: { more: 'theirs' } });
    await bed.pass(5_000);
    expect((await live())?.data).toEqual({ level: 'info', more: 'theirs' });
    expect(condition(await bed.source(), 'Drifted')).toBeUndefined();
  });
});

describe('a Secret that Git writes in plain texts (stringData)', () => {
  const secret = (stringData: Record<string, string>) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'vault', namespace: 'shop' },
      stringData,
    });
  const data = async () => (await bed.get('v1', 'Secret', 'vault'))?.data;
  const [one, two] = ['one', 'two'].map((text) => Buffer.from(text).toString('base64'));

  test('loses a key that Git has no more, and is not written again for what others add', async () => {
    await follow({ 'vault.json': secret({ a: 'one', b: 'two' }) });
    expect(await data()).toEqual({ a: one, b: two });

    await bed.commit('without b', { 'vault.json': secret({ a: 'one' }) });

    await eventually('b is gone', async () => JSON.stringify(await data()) === JSON.stringify({ a: one }), {
      seen: data,
    });
    await bed.pass(10_000);
    bed.sandbox.requests.clear();
    await edit('/api/v1/namespaces/shop/secrets/vault', { metadata: { labels: { seen: 'true' } } });
    await bed.pass(10_000);
    const own = bed.sandbox.requests.writes().filter(({ userAgent }) => userAgent.startsWith('holdfast'));
    expect(own.filter(({ path }) => path.includes('/secrets/'))).toEqual([]);
  });
});

test('a manifest that was exported from a cluster is applied, and not again with each change of its status', async () => {
  const web = JSON.parse(deployment('shop/web:1'));
  Object.assign(web.metadata, {
    ...{ creationTimestamp: '2020-01-01T00:00:00Z', generation: 4, resourceVersion: '1234', uid: 'abc' },
    managedFields: [{ manager: 'kubectl', operation: 'Update' }],
  });
  web.status = { observedGeneration: 4, readyReplicas: 7 };
  await follow({ 'web.json': JSON.stringify(web) }, { interval: '1h' });
  await bed.pass(10_000);
  bed.sandbox.requests.clear();

  const status = { conditions: [{ type: 'Seen', status: 'True' }] };
  await edit(`${deployments}/web/status`, { status });
  await bed.pass(10_000);

  const own = bed.sandbox.requests.writes().filter(({ userAgent }) => userAgent.startsWith('holdfast'));
  expect(own.filter(({ path }) => path.includes('/deployments/'))).toEqual([]);
  expect(condition(await bed.source(), 'Ready')?.status).toBe('True');
});

test('a webhook that takes the label from what is applied is told, since that could never be pruned', async () => {
  const end = bed.sandbox.webhook((key, object) => {
    if (key !== '/configmaps' || object.metadata.name !== 'a') return object;
    const { [partOfLabel]: _, ...labels } = object.metadata.labels ?? {};
    return { ...object, metadata: { ...object.metadata, labels } };
  });
  await bed.commit('first', { 'a.json': configMap('info') });
  await createSource(bed);
  await bed.start();
  const applied = async () => condition(await bed.source(), 'Applied');
  await eventually('it is told', async () => (await applied())?.reason === 'ForeignChange', {
    seen: applied,
  });
  expect((await applied())?.message).toContain(`ConfigMap shop/a: its label ${partOfLabel} is gone`);

  end();

  await eventually('it is applied', async () => (await applied())?.status === 'True', { seen: applied });
});

describe('what Git takes out of an object that had another writer of Holdfast before', () => {
  const config = (data: Record<string, string>) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' }, data });
  const web = (image: string, env: Record<string, string>) => {
    const target = JSON.parse(deployment(image, { env }));
    target.spec.template.spec.containers[0].envFrom = [{ configMapRef: { name: 'a' } }];
    return JSON.stringify(target);
  };
  const envOf = async (name: string) => {
    const found = (await bed.get('apps/v1', 'Deployment', name))?.spec as
      | { template: { spec: { containers: Array<{ env?: Array<{ name: string }> }> } } }
      | undefined;
    return (found?.template.spec.containers[0]?.env ?? []).map((one) => one.name);
  };

  test('leaves the canary of a target that its Source applied before it had a Canary, and its config', async () => {
    await follow({
      'web.json': web('shop/web:1', { A: '1', B: '2' }),
      'config.json': config({ level: 'info', old: 'yes' }),
    });
    await bed.commit('a Canary', { 'canary.json': canary() });
    await waitForPhase(bed, 'Initialized');

    await bed.commit('less', {
      'web.json': web('shop/web:2', { A: '1' }),
      'config.json': config({ level: 'info' }),
    });

    await waitForPhase(bed, 'Succeeded');
    expect([await envOf('web'), await envOf('web-primary')]).toEqual([['A'], ['A']]);
    expect((await live())?.data).toEqual({ level: 'info' });
  });

  test('leaves a target whose Canary has left Git, and its config', async () => {
    await follow(
      {
        'web.json': web('shop/web:1', { A: '1', B: '2' }),
        'config.json': config({ level: 'info', old: 'yes' }),
        'canary.json': canary(),
      },
      { prune: true },
    );
    await waitForPhase(bed, 'Initialized');
    await bed.commit('no Canary', { 'canary.json': null });
    await eventually('the Canary is gone', async () => !(await bed.canary()), { seen: bed.source });

    await bed.commit('less', {
      'web.json': web('shop/web:1', { A: '1' }),
      'config.json': config({ level: 'info' }),
    });

    const seen = async () => JSON.stringify([await envOf('web'), (await live())?.data]);
    const wanted = JSON.stringify([['A'], { level: 'info' }]);
    await eventually('it is as in Git', async () => (await seen()) === wanted, { seen });
    const target = await bed.get('apps/v1', 'Deployment', 'web');
    expect(target?.spec).toMatchObject({ replicas: 2 });
    expect(target?.metadata.annotations?.['holdfast.dev/digest']).toBeUndefined();
  });
});

describe('what Git takes out of an object that kubectl has applied, too', () => {
  const apply = (path: string, object: string) =>
    bed.send('POST', `${path}?fieldManager=kubectl-client-side-apply`, JSON.parse(object));
  const service = (ports: object[]) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'api', namespace: 'shop' },
      spec: { selector: { app: 'api' }, ports },
    });

  test('goes from the cluster, and what kubectl alone has stays', async () => {
    const a = JSON.parse(configMap('info', {}, { data: { level: 'info', old: 'yes', theirs: 'yes' } }));
    expect((await apply(configMaps, JSON.stringify(a))).status).toBe(201);
    await follow({ 'a.json': configMap('info', {}, { data: { level: 'info', old: 'yes' } }) });

    await bed.commit('less', { 'a.json': configMap('info') });

    const seen = async () => JSON.stringify((await live())?.data);
    const wanted = JSON.stringify({ level: 'info', theirs: 'yes' });
    await eventually('it is as in Git', async () => (await seen()) === wanted, { seen });
  });

  test('makes room for a port of the same name', async () => {
    const http = (port: number) => service([{ name: 'http', port, targetPort: 8080, protocol: 'TCP' }]);
    await apply('/api/v1/namespaces/shop/services', http(80));
    await follow({ 'api.json': http(80) });

    await bed.commit('another port', { 'api.json': http(90) });

    const ports = async () =>
      ((await bed.get('v1', 'Service', 'api'))?.spec as { ports: object[] } | undefined)?.ports;
    await eventually('it has the port', async () => JSON.stringify(await ports()).includes('"port":90'), {
      seen: bed.source,
    });
    expect(await ports()).toHaveLength(1);
  });

  test('leaves a target, and so its canary', async () => {
    const web = (image: string, env: Record<string, string>) => deployment(image, { env });
    await apply(deployments, web('shop/web:1', { A: '1', B: '2' }));
    await follow({ 'web.json': web('shop/web:1', { A: '1', B: '2' }), 'canary.json': canary() });
    await waitForPhase(bed, 'Initialized');

    await bed.commit('less', { 'web.json': web('shop/web:2', { A: '1' }) });

    await waitForPhase(bed, 'Succeeded');
    const env = [{ name: 'A', value: '1' }];
    expect((await bed.get('apps/v1', 'Deployment', 'web'))?.spec).toMatchObject({
      template: { spec: { containers: [{ env }] } },
    });
  });

  test('stays where fields of others are left to them', async () => {
    const leave = { 'holdfast.dev/on-conflict': 'leave' };
    const both = configMap('info', leave, { data: { level: 'info', old: 'yes' } });
    await apply(configMaps, both);
    await follow({ 'a.json': both });

    const commit = await bed.commit('less', { 'a.json': configMap('info', leave) });

    await eventually('it is applied', async () => statusOf(await bed.source()).appliedCommit === commit);
    expect((await live())?.data).toEqual({ level: 'info', old: 'yes' });
  });
});

describe('fields of others', () => {
  test('pods that an autoscaler asked for are left alone, pods that a person asked for are not', async () => {
    await follow({ 'web.json': deployment('shop/web:1') });
    await edit(`${deployments}/web/scale`, { spec: { replicas: 5 } }, 'kubectl');
    await eventually('it is put back', async () => (await replicas()) === 2);
    await untilDrifted(/\.spec\.replicas \(kubectl/);
    bed.sandbox.requests.clear();
    await edit(`${deployments}/web/scale`, { spec: { replicas: 4 } }, 'kube-controller-manager');
    await bed.pass(5_000);
    expect(await replicas()).toBe(4);
    await bed.commit('new image', { 'web.json': deployment('shop/web:2') });
    await eventually('it is applied', async () => {
      return JSON.stringify(await bed.get('apps/v1', 'Deployment', 'web')).includes('shop/web:2');
    });
    expect(await replicas()).toBe(4);
    const writes = bed.sandbox.requests.writes().filter(({ path }) => path.endsWith('/deployments/web'));
    expect(writes.length).toBeLessThanOrEqual(4);
  });

  test('get the number of pods that Git takes out, which stays as it is until they change it', async () => {
    const none = JSON.parse(deployment('shop/web:2'));
    delete none.spec.replicas;
    await follow({ 'web.json': deployment('shop/web:1', { replicas: 3 }) });

    const commit = await bed.commit('an autoscaler has the pods', { 'web.json': JSON.stringify(none) });

    const applied = async (sha: string) => statusOf(await bed.source()).appliedCommit === sha;
    await eventually('it is applied', () => applied(commit));
    expect(await replicas()).toBe(3);
    await edit(`${deployments}/web/scale`, { spec: { replicas: 4 } }, 'kubectl');
    await bed.pass(5_000);
    expect(await replicas()).toBe(4);
    await bed.commit('back in Git', { 'web.json': deployment('shop/web:2', { replicas: 5 }) });
    await eventually('Git has the pods again', async () => (await replicas()) === 5);
  });

  test('are none where Git gave a number of pods up and has one again', async () => {
    const none = JSON.parse(deployment('shop/web:2'));
    delete none.spec.replicas;
    await follow({ 'web.json': deployment('shop/web:1', { replicas: 3 }) });
    await bed.commit('none', { 'web.json': JSON.stringify(none) });
    await eventually('it is applied', async () =>
      JSON.stringify(await bed.get('apps/v1', 'Deployment', 'web')).includes('web:2'),
    );

    await bed.commit('back in Git', { 'web.json': deployment('shop/web:2', { replicas: 5 }) });

    await eventually('Git has the pods again', async () => (await replicas()) === 5);
    await bed.pass(1_000);
    expect(notesOf(bed, 'FieldsTaken')).toEqual([]);
  });

  test('of an object that was there before are as in Git from then on, which is an event', async () => {
    await bed.send('POST', configMaps, JSON.parse(configMap('debug')));

    await follow({ 'a.json': configMap('info') });
    await untilLevel('info');

    const said = () => notesOf(bed, 'FieldsTaken');
    await eventually('it is an event', async () => said().length > 0);
    expect(said()).toEqual([expect.stringContaining('ConfigMap shop/a')]);
  });

  test('that the object leaves to others, by name or altogether, stay as they are', async () => {
    const annotations = { 'holdfast.dev/ignore-fields': '/data/level' };
    await follow({ 'a.json': configMap('info', annotations) });
    await edit(`${configMaps}/a`, { data: { level: 'debug' } });
    await bed.pass(5_000);
    expect(level(await live())).toBe('debug');
    expect(condition(await bed.source(), 'Ready')?.status).toBe('True');
  });

  test('that the object leaves to others by name may be those of a port, also without its protocol', async () => {
    const annotations = { 'holdfast.dev/ignore-fields': '/spec/ports/0/targetPort' };
    const metadata = { name: 'a', namespace: 'shop', annotations };
    const spec = { ports: [{ port: 80, targetPort: 8080 }] };
    await follow({ 'a.json': JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata, spec }) });
    const ports = [{ port: 80, protocol: 'TCP', targetPort: 9090 }];
    await edit('/api/v1/namespaces/shop/services/a', { spec: { ports } });
    await bed.pass(5_000);
    expect((await bed.get('v1', 'Service', 'a'))?.spec).toMatchObject({ ports });
    expect(condition(await bed.source(), 'Ready')?.status).toBe('True');
  });

  test('that were left to others are as in Git once those gave them up', async () => {
    const annotations = { 'holdfast.dev/on-conflict': 'leave' };
    const theirs = (data: object) => {
      const manifest = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'a', namespace: 'shop' },
        data,
      };
      const path = `${configMaps}/a?fieldManager=other&force=true`;
      return bed.send('PATCH', path, manifest, 'application/apply-patch+yaml');
    };
    await theirs({ level: 'debug' });
    await follow({ 'a.json': configMap('info', annotations) });
    expect(level(await live())).toBe('debug');

    await theirs({});

    await untilLevel('info');
  });

  test('that were left to others are as in Git where the object is made anew', async () => {
    const image = '/spec/template/spec/containers/0/image';
    const web = (app: string) => {
      const { metadata, spec, ...rest } = JSON.parse(deployment('shop/web:1'));
      const annotations = { 'holdfast.dev/ignore-fields': image };
      const template = { ...spec.template, metadata: { labels: { app } } };
      const own = { ...spec, selector: { matchLabels: { app } }, template };
      return JSON.stringify({ ...rest, metadata: { ...metadata, annotations }, spec: own });
    };
    const imageNow = async () => {
      const found = await bed.get('apps/v1', 'Deployment', 'web');
      return found && imageOf(found);
    };
    const untilImage = (wanted: string) =>
      eventually(wanted, async () => (await imageNow()) === wanted, { seen: bed.source });
    const takeImage = () => {
      const patch = [{ op: 'replace', path: image, value: 'shop/web:2' }];
      return bed.send(
        'PATCH',
        `${deployments}/web?fieldManager=updater`,
        patch,
        'application/json-patch+json',
      );
    };
    await follow({ 'web.json': web('web') }, { force: true });
    await takeImage();
    await bed.pass(5_000);
    expect(await imageNow()).toBe('shop/web:2');

    await bed.send('DELETE', `${deployments}/web`);
    await untilImage('shop/web:1');
    await takeImage();
    await bed.pass(5_000);
    expect(await imageNow()).toBe('shop/web:2');

    await bed.commit('another selector', { 'web.json': web('other') });
    await untilImage('shop/web:1');
    await bed.pass(10_000);
    expect(await imageNow()).toBe('shop/web:1');
  });

  test('are not taken where the object refuses it: the other manager is named', async () => {
    await follow({ 'a.json': configMap('info', { 'holdfast.dev/on-conflict': 'refuse' }) });
    await edit(`${configMaps}/a`, { data: { level: 'debug' } }, 'their-controller');
    expect(await untilDrifted(/^True FieldConflict/)).toContain('.data.level (their-controller');
    expect(condition(await bed.source(), 'Applied')).toMatchObject({
      status: 'False',
      reason: 'FieldConflict',
    });
    expect(level(await live())).toBe('debug');
  });
});

describe('what cannot be changed in place', () => {
  test('is named, and made anew only where that was asked for', async () => {
    await follow({ 'a.json': configMap('info', {}, { immutable: true }) });
    const before = (await live())?.metadata.uid;
    await bed.commit('another level', { 'a.json': configMap('debug', {}, { immutable: true }) });
    const applied = async () => condition(await bed.source(), 'Applied');
    await eventually('it is refused', async () => (await applied())?.reason === 'ImmutableField', {
      seen: applied,
    });
    expect((await applied())?.message).toContain('holdfast.dev/force');
    expect(level(await live())).toBe('info');

    const forced = configMap('debug', { 'holdfast.dev/force': 'enabled' }, { immutable: true });
    await bed.commit('by force', { 'a.json': forced });
    await untilLevel('debug');
    expect((await live())?.metadata.uid).not.toBe(before);
  });

  test('is made anew also where an admission webhook says so', async () => {
    await follow({ 'a.json': configMap('info') }, { force: true });
    const before = (await live())?.metadata.uid;
    const message = 'admission webhook "a" denied the request: field data may not change';
    let isThere = true;
    bed.sandbox.fault(({ method, path }) => {
      if (!path.endsWith('/configmaps/a')) return undefined;
      if (method === 'DELETE') isThere = false;
      return method === 'PATCH' && isThere ? { code: 403, reason: 'Forbidden', message } : undefined;
    });

    await bed.commit('another level', { 'a.json': configMap('debug') });

    await untilLevel('debug');
    expect((await live())?.metadata.uid).not.toBe(before);
  });

  test('is not deleted where what would take its place is refused for more than that', async () => {
    const web = JSON.parse(deployment('shop/web:1')) as { spec: Record<string, object> };
    await follow({ 'web.json': JSON.stringify(web) }, { force: true });
    const before = await bed.get('apps/v1', 'Deployment', 'web');
    const labels = { app: 'other' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'app', image: '' }] } };
    const spec = { ...web.spec, selector: { matchLabels: labels }, template };
    await bed.commit('another selector, and no image', { 'web.json': JSON.stringify({ ...web, spec }) });
    const applied = async () => condition(await bed.source(), 'Applied');
    await eventually('it is refused', async () => (await applied())?.status === 'False', { seen: applied });
    expect((await applied())?.message).toContain('image');
    const after = await bed.get('apps/v1', 'Deployment', 'web');
    expect(after?.metadata).toMatchObject({ uid: before?.metadata.uid });
    expect(after?.metadata.deletionTimestamp).toBeUndefined();
  });
});
