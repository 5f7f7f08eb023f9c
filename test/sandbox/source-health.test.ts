import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  condition,
  configMap,
  createSource,
  deployment,
  eventually,
  follow,
  sourceFor,
  statusOf,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const sources = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources';

function untilSays(type: string, wanted: RegExp, name = 'shop'): Promise<string> {
  const told = async () => {
    const found = condition(await bed.get('holdfast.dev/v1alpha1', 'Source', name), type);
    return `${found?.status} ${found?.reason} ${found?.message}`;
  };
  return eventually(
    `${type} of ${name} says ${wanted}`,
    async () => {
      const text = await told();
      return wanted.test(text) && text;
    },
    { seen: told },
  );
}

test('with wait a Source is Ready once everything works; what does not in time is named', async () => {
  const job = JSON.stringify({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'slow', namespace: 'shop', annotations: { 'holdfast.dev/healthy-when': 'Done' } },
  });
  const crd = JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  });
  await bed.commit('first', { 'web.json': deployment('shop/web:1'), 'crd.json': crd, 'widget.json': job });
  await createSource(bed, { wait: true, timeout: '20s' });
  await bed.start({ trustedSourceNamespaces: ['shop'] });
  await untilSays('Ready', /^Unknown Progressing .*Widget shop\/slow: has no condition Done/);
  expect(condition(await bed.source(), 'Applied')?.status).toBe('True');
  await untilSays('Healthy', /^False HealthTimeout/);

  const status = { conditions: [{ type: 'Done', status: 'True' }] };
  const path = '/apis/example.com/v1/namespaces/shop/widgets/slow';
  await bed.send('PATCH', path, { status });

  await untilSays('Ready', /^True/);
  expect(condition(await bed.source(), 'Healthy')?.message).toContain('3 objects work');

  // Long after it was applied, as a Deployment whose node is drained.
  await bed.pass(60_000);
  const said = follow(
    bed,
    (store) => condition(store.get('holdfast.dev/sources', 'shop', 'shop'), 'Healthy')?.reason,
  );
  const stopped = { conditions: [{ type: 'Done', status: 'False' }] };
  await bed.send('PATCH', path, { status: stopped });
  await untilSays('Healthy', /^False HealthTimeout/);

  expect([...said]).toEqual(['Healthy', 'Progressing', 'HealthTimeout']);
});

test('what does not work in time is told at that time, however far away the next poll is', async () => {
  const metadata = { name: 'web', namespace: 'shop', annotations: { 'holdfast.dev/healthy-when': 'Done' } };
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
  await bed.commit('first', { 'a.json': JSON.stringify(map) });
  await createSource(bed, { wait: true, timeout: '20s', interval: '10h' });
  await bed.start();
  await untilSays('Healthy', /^Unknown Progressing/);
  await bed.pass(21_000);
  await untilSays('Healthy', /^False HealthTimeout/);
});

test('what only a person ends is Stalled after five minutes, however far away the next poll is', async () => {
  await bed.commit('broken', { 'a.yaml': 'kind: ConfigMap' });
  await createSource(bed, { interval: '10h' });
  await bed.start();
  await untilSays('Ready', /^False InvalidManifests/);
  await bed.pass(301_000);
  await untilSays('Stalled', /^True InvalidManifests/);
});

test('with wait an object of a kind that Holdfast may not watch is not said to be missing', async () => {
  const message = 'networkpolicies is forbidden: User "holdfast" cannot list resource "networkpolicies"';
  bed.sandbox.fault(({ userAgent, path }) =>
    userAgent.startsWith('holdfast/') && path.endsWith('/networkpolicies')
      ? { code: 403, message }
      : undefined,
  );
  const metadata = { name: 'closed', namespace: 'shop' };
  const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec: {} };
  await bed.commit('first', { 'policy.json': JSON.stringify(policy) });
  await createSource(bed, { wait: true, timeout: '20s' });
  await bed.start();
  const text = await untilSays('Healthy', /^False HealthTimeout/);
  expect(text).toContain('NetworkPolicy in shop cannot be listed: ');
  expect(text).not.toContain('does not exist');
});

test('with wait an object that is there and was not applied is not said to be missing', async () => {
  const labels = {
    'kustomize.toolkit.fluxcd.io/name': 'apps',
    'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
  };
  const theirs = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', labels } };
  await bed.send('POST', '/api/v1/namespaces/shop/configmaps', theirs);
  await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed, { wait: true });
  await bed.start();
  await untilSays('Applied', /^False Conflicted/);
  expect(condition(await bed.source(), 'Healthy')?.message).toBe('ConfigMap shop/a is not applied');
});

test('a Source waits for those it depends on, and goes on at once when they are Ready', async () => {
  await bed.commit('first', { 'app/a.json': configMap('a') });
  const dependent = { ...sourceFor(bed, { interval: '1h', path: 'app', dependsOn: [{ name: 'base' }] }) };
  await bed.send('POST', sources, dependent);
  await bed.start();
  await untilSays('Ready', /^False DependencyNotFound .*shop\/base/);
  expect(await bed.get('v1', 'ConfigMap', 'a')).toBeUndefined();

  const base = sourceFor(bed, { path: 'base', interval: '1s' });
  await bed.send('POST', sources, { ...base, metadata: { name: 'base', namespace: 'shop' } });
  await untilSays('Ready', /^False DependencyNotReady/);
  await bed.commit('base is there', { 'base/b.json': configMap('b') });
  await untilSays('Ready', /^True/, 'base');

  await eventually(
    'it is applied',
    async () => {
      return (
        statusOf(await bed.source()).appliedCommit !== undefined && (await bed.get('v1', 'ConfigMap', 'a'))
      );
    },
    { seen: bed.source },
  );
});

test('a later commit waits for those it depends on, and is not taken for applied meanwhile', async () => {
  const first = await bed.commit('first', { 'app/a.json': configMap('a'), 'base/b.json': configMap('b') });
  const base = { ...sourceFor(bed, { path: 'base' }), metadata: { name: 'base', namespace: 'shop' } };
  await bed.send('POST', sources, base);
  await createSource(bed, { path: 'app', dependsOn: [{ name: 'base' }] });
  const app = await bed.start();
  await untilSays('Ready', /^True/);
  const suspended = { spec: { suspend: true } };
  await bed.send('PATCH', `${sources}/base`, suspended);
  await untilSays('Ready', /^False Suspended/, 'base');

  await bed.commit('second', { 'app/c.json': configMap('c') });

  await untilSays('Ready', /^False DependencyNotReady/);
  await bed.pass(30_000);
  expect(statusOf(await bed.source()).appliedCommit).toBe(first);
  expect(await bed.get('v1', 'ConfigMap', 'c')).toBeUndefined();
  const put = () => bed.get('v1', 'ConfigMap', 'a');
  const configMaps = '/api/v1/namespaces/shop/configmaps';
  await bed.send('DELETE', `${configMaps}/a`);
  await eventually('the commit before is kept in order', put, { seen: bed.source });
  await app.drain();
  await bed.send('DELETE', `${configMaps}/a`);
  await bed.start();
  await eventually('after a restart, too', put, { seen: bed.source });
  expect(await bed.get('v1', 'ConfigMap', 'c')).toBeUndefined();
  const resumed = { spec: { suspend: false } };
  await bed.send('PATCH', `${sources}/base`, resumed);
  await eventually('it is applied', () => bed.get('v1', 'ConfigMap', 'c'), { seen: bed.source });
});

test('a Source that says something else waits for those it depends on, however often it looks', async () => {
  const files = { 'app/a.json': configMap('a'), 'new/n.json': configMap('n'), 'base/b.json': configMap('b') };
  await bed.commit('first', files);
  const base = { ...sourceFor(bed, { path: 'base', suspend: true }) };
  await bed.send('POST', sources, { ...base, metadata: { name: 'base', namespace: 'shop' } });
  await createSource(bed, { path: 'app' });
  await bed.start();
  await untilSays('Ready', /^True/);

  const spec = { path: 'new', dependsOn: [{ name: 'base' }] };
  await bed.send('PATCH', `${sources}/shop`, { spec });

  await untilSays('Ready', /^False DependencyNotReady/);
  await bed.pass(30_000);
  expect(await bed.get('v1', 'ConfigMap', 'n')).toBeUndefined();
  expect(condition(await bed.source(), 'Ready')?.reason).toBe('DependencyNotReady');
});

test('Sources that depend on each other in a circle say how it goes', async () => {
  await bed.commit('first', { 'a.json': configMap('a') });
  await createSource(bed, { dependsOn: [{ name: 'other' }] });
  const other = sourceFor(bed, { dependsOn: [{ name: 'shop' }] });
  await bed.send('POST', sources, { ...other, metadata: { name: 'other', namespace: 'shop' } });
  await bed.start();
  await untilSays('Ready', /^False DependencyCycle .*shop\/shop -> shop\/other -> shop\/shop/);
});
