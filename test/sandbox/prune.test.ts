import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { imageOf } from '../objects.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  runUntilInitialized,
  statusOf,
} from './holdfast-bed.ts';
import { configMap, sources, watchPruning } from './pruned-objects.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const { isThere, untilGone, untilApplied, untilPruned } = watchPruning(() => bed);

async function approve(commit: string): Promise<void> {
  const annotations = { 'holdfast.dev/approve': commit };
  await bed.send('PATCH', `${sources}/shop`, { metadata: { annotations } });
}

function widgetKind(scope: string): KubernetesObject & { spec: { versions: Array<{ served: boolean }> } } {
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      ...{ group: 'example.com', scope },
      names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  } as never;
}

describe('what left Git', () => {
  test('is not what somebody copied with its labels: that stays, is named, and makes nothing wait, however much it is', async () => {
    await bed.commit('first', { 'a.json': configMap('a'), 'b.json': configMap('b') });
    await createSource(bed, { prune: true });
    await bed.start();
    await eventually('it is applied', () => isThere('a'), { seen: bed.source });
    const { metadata } = (await bed.get('v1', 'ConfigMap', 'a')) ?? {};
    for (const name of Array.from({ length: 12 }, (_, index) => `copy${index}`)) {
      const copy = { ...JSON.parse(configMap(name)), metadata: { name, labels: metadata?.labels } };
      await bed.send('POST', '/api/v1/namespaces/shop/configmaps?fieldManager=kubectl-create', copy);
    }

    await bed.commit('second', { 'b.json': null });

    await untilGone('b');
    await untilPruned('Pruned', 'ConfigMap shop/copy0: Holdfast did not write it');
    expect(await isThere('copy0')).toBe(true);
  });

  test('is deleted, also when it left while nothing ran; what opted out stays, and the Source lists its kinds', async () => {
    await bed.commit('first', {
      'a.json': configMap('a'),
      'b.json': configMap('b'),
      'kept.json': configMap('kept', { 'holdfast.dev/prune': 'disabled' }),
      'secret.json': JSON.stringify({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'left', namespace: 'shop' },
      }),
    });
    await createSource(bed, { prune: true });
    const app = await bed.start();
    await eventually('all is there', () => isThere('b'));
    await app.drain();
    await bed.commit('fewer', { 'b.json': null, 'kept.json': null, 'secret.json': null });

    await bed.start();

    await untilGone('b');
    await untilPruned('Pruned', 'ConfigMap shop/kept: holdfast.dev/prune: disabled');
    expect(await bed.get('v1', 'Secret', 'left')).toBeUndefined();
    expect([await isThere('a'), await isThere('kept')]).toEqual([true, true]);
    const kinds = 'applyset.kubernetes.io/contains-group-kinds';
    await eventually('only kinds with members are listed', async () => {
      return (await bed.source())?.metadata.annotations?.[kinds] === 'ConfigMap';
    });
    expect(statusOf(await bed.source()).counts).toMatchObject({ pruned: 2 });
  });

  test('is named as long as its deletion is answered with a conflict, as by a webhook, and is deleted after that', async () => {
    await bed.commit('first', { 'a.json': configMap('a'), 'b.json': configMap('b') });
    await createSource(bed, { prune: true });
    await bed.start();
    await eventually('it is applied', () => isThere('b'), { seen: bed.source });
    const allow = bed.sandbox.fault(({ method, path }) =>
      method === 'DELETE' && path.endsWith('/configmaps/b')
        ? {
            code: 409,
            reason: 'Conflict',
            message: 'admission webhook "locks" denied the request: b is in use',
          }
        : undefined,
    );

    await bed.commit('without b', { 'b.json': null });

    await untilPruned('Pruning', 'ConfigMap shop/b: delete ConfigMap shop/b: 409 admission webhook "locks"');
    allow();
    await untilGone('b');
    await untilPruned('Pruned');
  });

  test('is deleted once the right to delete it is there, without another commit', async () => {
    await bed.commit('first', { 'a.json': configMap('a'), 'b.json': configMap('b') });
    await createSource(bed, { prune: true });
    await bed.start();
    await eventually('it is applied', () => isThere('b'), { seen: bed.source });
    const allow = bed.sandbox.fault(({ method, path }) =>
      method === 'DELETE' && path.endsWith('/configmaps/b')
        ? { code: 403, reason: 'Forbidden', message: 'it may not delete configmaps' }
        : undefined,
    );
    await bed.commit('without b', { 'b.json': null });
    await untilPruned('Forbidden', 'it may not delete configmaps');

    allow();

    await untilGone('b');
    await untilPruned('Pruned');
  });

  test('is not what only names a namespace that its kind does not have', async () => {
    const metadata = { name: 'extra', namespace: 'shop', annotations: { 'holdfast.dev/prune': 'enabled' } };
    await bed.commit('first', {
      'extra.json': JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata }),
      'a.json': configMap('a'),
    });
    await createSource(bed, { prune: true });
    await bed.start({ trustedSourceNamespaces: ['shop'] });
    expect(await untilPruned('Pruned')).toBe('objects that left Git were deleted');
    const { body } = await bed.send('GET', '/api/v1/namespaces/extra');
    expect(body).toMatchObject({ metadata: { name: 'extra' } });
    expect((body as KubernetesObject).metadata.deletionTimestamp).toBeUndefined();
    expect(statusOf(await bed.source()).counts).not.toHaveProperty('pruned');
  });

  test.each([
    ['Namespaced', undefined, '/namespaces/shop'],
    ['Cluster', 'shop', ''],
  ])('is not an object whose kind the same commit brings: scope %s', async (scope, namespace, where) => {
    const crd = widgetKind(scope);
    const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one', namespace } };
    await bed.commit('first', { 'crd.json': JSON.stringify(crd), 'widget.json': JSON.stringify(widget) });
    await createSource(bed, { prune: true, defaultNamespace: 'shop' });
    await bed.start({ trustedSourceNamespaces: ['shop'] });
    await untilPruned('Pruned');
    const { status, body } = await bed.send('GET', `/apis/example.com/v1${where}/widgets/one`);
    expect(status).toBe(200);
    expect((body as KubernetesObject).metadata.deletionTimestamp).toBeUndefined();
    expect(condition(await bed.source(), 'Ready')?.status).toBe('True');
  });

  test('is not forgotten where its kind was not served at that moment', async () => {
    const kinds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const { spec, ...crd } = widgetKind('Namespaced');
    const [version] = spec.versions;
    const serve = (served: boolean) =>
      bed.send('PATCH', `${kinds}/widgets.example.com`, { spec: { versions: [{ ...version, served }] } });
    const isWidget = async () =>
      (await bed.send('GET', '/apis/example.com/v1/namespaces/far/widgets/one')).status === 200;
    await bed.send('POST', kinds, { ...crd, spec });
    await bed.send('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'far' },
    });
    const metadata = { name: 'one', namespace: 'far' };
    const widget = JSON.stringify({ apiVersion: 'example.com/v1', kind: 'Widget', metadata });
    await bed.commit('first', { 'a.json': configMap('a'), 'widget.json': widget });
    await createSource(bed, { prune: true });
    const trusted = { trustedSourceNamespaces: ['shop'] };
    const app = await bed.start(trusted);
    await eventually('it is applied', isWidget, { seen: bed.source });
    await app.drain();
    await serve(false);
    const second = await bed.commit('without it', { 'widget.json': null });
    await bed.start(trusted);
    await untilApplied(second);
    await untilPruned('Pruned');
    await serve(true);
    expect(await isWidget()).toBe(true);
    // The list of kinds is read anew once a second of the machine.
    await sleep(1_100);

    await bed.commit('third', { 'b.json': configMap('b') });

    await eventually('it is gone', async () => !(await isWidget()), { seen: bed.source, timeoutMs: 30_000 });
  });

  test('stays while the annotation of kinds names too many to look at, and goes once it is shortened', async () => {
    const kinds = Array.from({ length: 300 }, (_, index) => `Widget${index}.example.com`);
    const annotate = (value: string) =>
      bed.send('PATCH', `${sources}/shop`, {
        metadata: { annotations: { 'applyset.kubernetes.io/contains-group-kinds': value } },
      });
    const first = await bed.commit('first', { 'a.json': configMap('a'), 'b.json': configMap('b') });
    await createSource(bed, { prune: true });
    await bed.start();
    await untilApplied(first);
    await annotate(['ConfigMap', ...kinds].join());
    await bed.commit('without b', { 'b.json': null });

    expect(await untilPruned('NotDecided')).toContain('names 300 kinds that are not in Git');
    expect(await isThere('b')).toBe(true);

    await annotate('ConfigMap');
    await untilGone('b');
    expect(await isThere('a')).toBe(true);
  });

  test('stays without spec.prune, and where the commit could not be read whole', async () => {
    const first = await bed.commit('first', { 'a.json': configMap('a'), 'b.json': configMap('b') });
    await createSource(bed);
    await bed.start();
    await untilApplied(first);
    const second = await bed.commit('without b', { 'b.json': null, 'c.json': configMap('c') });
    await untilApplied(second);
    expect(await isThere('b')).toBe(true);

    const broken = await bed.commit('a file is broken', { 'c.json': '{"apiVersion": "v1",' });
    const head = async () => (statusOf(await bed.source()).head as { commit?: string }).commit;
    await eventually('that is read', async () => (await head()) === broken, { seen: bed.source });
    await bed.send('PATCH', `${sources}/shop`, { spec: { prune: true } });
    expect(await untilPruned('NotDecided')).toContain('broken');
    expect([await isThere('b'), await isThere('c')]).toEqual([true, true]);

    await bed.commit('mended', { 'c.json': configMap('c') });
    await untilGone('b');
    expect(await isThere('c')).toBe(true);
  });

  test('waits for a person where it is a large share of all', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `c${index}`);
    const files = Object.fromEntries(names.map((name) => [`${name}.json`, configMap(name)]));
    const first = await bed.commit('first', { ...files, 'stays.json': configMap('stays') });
    await createSource(bed, { prune: true });
    await bed.start();
    await untilApplied(first);

    const second = await bed.commit(
      'most is gone',
      Object.fromEntries(names.map((name) => [`${name}.json`, null])),
    );
    expect(await untilPruned('PruneNeedsApproval')).toMatch(
      /^12 objects are no longer in Git at .* run kubectl -n shop annotate --overwrite source\/shop holdfast\.dev\/approve=prune:[0-9a-f]{12} to delete ConfigMap shop\/c0; /,
    );
    expect(condition(await bed.source(), 'Ready')).toMatchObject({
      status: 'False',
      reason: 'PruneNeedsApproval',
    });
    expect(await isThere('c3')).toBe(true);

    await approve(second);
    await untilPruned('Pruned');
    expect(await Promise.all(names.map(isThere))).toEqual(names.map(() => false));
    expect(await isThere('stays')).toBe(true);
  });

  test('needs an approval of its own after a rewritten history was approved', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `c${index}`);
    const files = Object.fromEntries(names.map((name) => [`${name}.json`, configMap(name)]));
    const first = await bed.commit('first', { ...files, 'stays.json': configMap('stays') });
    await createSource(bed, { prune: true });
    const app = await bed.start();
    await untilApplied(first);

    const rewritten = await bed.rewrite('most is gone', { 'stays.json': configMap('stays') });
    await eventually(
      'the rewritten history waits',
      async () => condition(await bed.source(), 'Ready')?.message.includes(rewritten),
      { seen: bed.source },
    );
    await approve(rewritten);
    await untilApplied(rewritten);
    await untilPruned('PruneNeedsApproval');
    await app.drain();

    await bed.start();
    await bed.pass(20_000);
    const asked = await untilPruned('PruneNeedsApproval');
    expect(await Promise.all(names.map(isThere))).toEqual(names.map(() => true));
    const answers = statusOf(await bed.source()).answers as { approve?: { message?: string } };
    expect(answers.approve?.message).toContain('the rewritten history');

    await approve(/=(prune:[0-9a-f]+) /.exec(asked)?.[1] ?? '');
    await untilPruned('Pruned');
    expect(await Promise.all(names.map(isThere))).toEqual(names.map(() => false));
  });
});

describe('a Canary that left Git', () => {
  const target = () => bed.get('apps/v1', 'Deployment', 'web');

  test('hands back to its target, which stays, before it goes', async () => {
    await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
    await runUntilInitialized(bed, { prune: true });
    expect((await target())?.spec).toMatchObject({ replicas: 0 });

    await bed.commit('no canary any more', { 'canary.json': null });

    await eventually('the Canary is gone', async () => !(await bed.canary()), { seen: bed.source });
    expect(statusOf(await target())).toMatchObject({ readyReplicas: 2 });
    await eventually(
      'the primary is gone',
      async () => !(await bed.get('apps/v1', 'Deployment', 'web-primary')),
    );
    expect((await bed.get('v1', 'Service', 'web'))?.spec).toMatchObject({ selector: { app: 'web' } });
  });

  test('hands back where its target left with it and stays', async () => {
    const kept = JSON.parse(deployment('shop/web:1'));
    kept.metadata.annotations = { 'holdfast.dev/prune': 'disabled' };
    await bed.commit('v1', {
      'a.json': configMap('a'),
      'web.json': JSON.stringify(kept),
      'canary.json': canary(),
    });
    await runUntilInitialized(bed, { prune: true });

    await bed.commit('neither any more', { 'web.json': null, 'canary.json': null });

    await eventually('the Canary is gone', async () => !(await bed.canary()), { seen: bed.source });
    expect(statusOf(await target())).toMatchObject({ readyReplicas: 2 });
    expect((await bed.get('v1', 'Service', 'web'))?.spec).toMatchObject({ selector: { app: 'web' } });
  });

  test.each(['leave', 'refuse'])(
    'leaves a target that follows Git, also where that is to %s fields of others',
    async (policy) => {
      const web = (image: string) => {
        const { metadata, ...rest } = JSON.parse(deployment(image));
        return JSON.stringify({
          ...rest,
          metadata: { ...metadata, annotations: { 'holdfast.dev/on-conflict': policy } },
        });
      };
      await bed.commit('v1', { 'web.json': web('shop/web:1'), 'canary.json': canary() });
      await runUntilInitialized(bed, { prune: true });
      await bed.commit('no canary any more', { 'canary.json': null });
      await eventually('the Canary is gone', async () => !(await bed.canary()), { seen: bed.source });

      await bed.commit('v2', { 'web.json': web('shop/web:2') });

      await eventually('it runs v2', async () => imageOf(await target()) === 'shop/web:2', {
        seen: bed.source,
      });
    },
  );

  test('is deleted where it never began, as for want of a kind that it needs', async () => {
    const autoscalerRef = { apiVersion: 'keda.sh/v1alpha1', kind: 'ScaledObject', name: 'web' };
    await bed.commit('v1', {
      'web.json': deployment('shop/web:1'),
      'canary.json': canary({ spec: { autoscalerRef } }),
    });
    await createSource(bed, { prune: true });
    await bed.start();
    await eventually(
      'it cannot begin',
      async () => condition(await bed.canary(), 'Ready')?.reason === 'WatchFailed',
      { seen: () => bed.canary() },
    );

    await bed.commit('no canary any more', { 'canary.json': null });

    await eventually('the Canary is gone', async () => !(await bed.canary()), { seen: bed.source });
    await untilPruned('Pruned');
    await eventually('the target runs', async () => statusOf(await target()).readyReplicas === 2);
  });

  test('is told where a webhook takes the hand-back from it, and hands back without the webhook', async () => {
    await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
    await runUntilInitialized(bed, { prune: true });
    const { store } = bed.sandbox;
    const { put } = store;
    store.put = (key, { ...sent }) => {
      if (sent.kind === 'Canary') sent.spec = { ...(sent.spec as object), revertOnDeletion: undefined };
      return put(key, sent);
    };

    await bed.commit('no canary any more', { 'canary.json': null });

    await untilPruned(
      'ForeignChange',
      'Canary shop/web: spec.revertOnDeletion is gone right after it was written',
    );
    Object.assign(store, { put });
    await eventually('the Canary is gone', async () => !(await bed.canary()), { seen: bed.source });
  });

  test('and is back in Git stays by itself, whatever is refused for another one', async () => {
    const files = (name: string) => ({
      [`${name}.json`]: deployment('shop/web:1', { name }),
      [`canary-${name}.json`]: canary({ name }),
    });
    const handingBack = 'holdfast.dev/handing-back';
    const isHandingBack = async (name: string) =>
      (await bed.canary(name))?.metadata.annotations?.[handingBack] !== undefined;
    const first = await bed.commit('first', {
      ...{ ...files('api'), ...files('web') },
      ...{ 'a.json': configMap('a'), 'b.json': configMap('b') },
    });
    await createSource(bed, { prune: true });
    await bed.start();
    await untilApplied(first);
    await untilPruned('Pruned');
    bed.sandbox.fault(({ method, path, body }) =>
      method === 'PATCH' && path.endsWith('/canaries/api') && body.includes(`"${handingBack}":null`)
        ? { code: 403, reason: 'Forbidden', message: 'it may not patch canaries' }
        : undefined,
    );
    for (const name of ['api', 'web'])
      await bed.send('PATCH', `/apis/flagger.app/v1beta1/namespaces/shop/canaries/${name}`, {
        metadata: { annotations: { [handingBack]: 'true' } },
        spec: { revertOnDeletion: true },
      });

    const last = await bed.commit('without b', { 'b.json': null });

    await untilPruned('Forbidden', 'it may not patch canaries');
    await untilApplied(last);
    await untilGone('b');
    await eventually('the other one stays', async () => !(await isHandingBack('web')), { seen: bed.source });
    expect(await isHandingBack('api')).toBe(true);
    expect(statusOf(await bed.source()).counts).toMatchObject({ pruned: 1 });
  });

  test('goes with its target and their config where all of it left', async () => {
    const workload = JSON.parse(deployment('shop/web:1'));
    workload.spec.template.spec.containers[0].envFrom = [{ configMapRef: { name: 'settings' } }];
    await bed.commit('v1', {
      'web.json': JSON.stringify(workload),
      'canary.json': canary(),
      'settings.json': configMap('settings'),
      'other.json': configMap('other'),
    });
    await runUntilInitialized(bed, { prune: true });

    await bed.commit('away', { 'web.json': null, 'canary.json': null, 'settings.json': null });

    await eventually('the target is gone', async () => !(await target()), { seen: bed.source });
    await untilGone('settings');
    expect(await bed.canary()).toBeUndefined();
    expect(await isThere('other')).toBe(true);
  });
});
