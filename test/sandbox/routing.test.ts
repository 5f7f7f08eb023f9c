/** Every provider with routing objects of its own, from the first write to the hand-back, as `fixtures.test-support.ts` of the folder says. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { RouteReference } from '../../src/contracts/routing.ts';
import {
  abAnalysis,
  aContext,
  canaryFor,
  fixtureOf,
  initialTraffic,
} from '../../src/providers/routing/fixtures.test-support.ts';
import type { RoutingProvider } from '../../src/providers/routing/router.ts';
import { routers } from '../../src/providers/routing/table.ts';
import { imageOf } from '../objects.ts';
import { condition, createSource, deployment, eventually, isNotIdle, statusOf } from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

const canaries = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';
const withObjects = routers.filter(({ isTarget, apexFollowsTraffic }) => !isTarget && !apexFollowsTraffic);

let bed: QuickBed;
let stopController: () => Promise<void>;
beforeEach(async () => {
  bed = await startQuickBed();
  stopController = async () => undefined;
});
afterEach(async () => {
  await stopController();
  await bed.close();
});

function pluralOf(router: RoutingProvider, { apiVersion, kind }: KubernetesObject | RouteReference): string {
  const [group = ''] = apiVersion.split('/');
  const ofGroup = router.resources.filter((resource) => resource.slice(resource.indexOf('.') + 1) === group);
  const found =
    ofGroup.find((resource) => resource.startsWith(kind.toLowerCase().slice(0, -1))) ?? ofGroup[0];
  return found?.split('.', 1)[0] ?? '';
}

function pathOf(router: RoutingProvider, reference: RouteReference): string {
  const { apiVersion, name, namespace = 'shop' } = reference;
  const where = namespace ? `/namespaces/${namespace}` : '';
  return `/apis/${apiVersion}${where}/${pluralOf(router, reference)}/${name}`;
}

function referencesOf(router: RoutingProvider): readonly RouteReference[] {
  const { canary, names } = aContext(canaryFor(router));
  return router.references?.(canary, names) ?? router.kinds.map((kind) => ({ ...kind, name: names.apex }));
}

/** Serves the kinds of a provider, with any content. */
async function serve(router: RoutingProvider): Promise<void> {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const metadata = { name: 'gloo' };
  await bed.send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
  for (const routeKind of router.kinds) {
    const [group = '', version = ''] = routeKind.apiVersion.split('/');
    const plural = pluralOf(router, { ...routeKind, name: '' });
    await bed.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        names: { kind: routeKind.kind, plural, singular: routeKind.kind.toLowerCase() },
        scope: routeKind.namespace === '' ? 'Cluster' : 'Namespaced',
        versions: [
          {
            name: version,
            served: true,
            storage: true,
            subresources: { status: {} },
            schema: { openAPIV3Schema: { ...open, properties: { spec: open, status: open } } },
          },
        ],
      },
    });
  }
}

async function create(router: RoutingProvider, object: KubernetesObject): Promise<void> {
  const { namespace = '', name } = object.metadata;
  const path = pathOf(router, { apiVersion: object.apiVersion, kind: object.kind, name, namespace });
  const { status } = await bed.send('POST', path.slice(0, path.lastIndexOf('/')), object);
  expect(status).toBe(201);
}

/** From the store: the player of the controller and every wait look a hundred times a second. */
function live(router: RoutingProvider): KubernetesObject[] {
  return referencesOf(router).flatMap((reference) => {
    const { apiVersion, kind, name, namespace = 'shop' } = reference;
    const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
    const found = bed.sandbox.store.get(`${group}/${pluralOf(router, reference)}`, namespace, name);
    return found ? [{ ...found, apiVersion, kind }] : [];
  });
}

function weight(router: RoutingProvider): number | undefined {
  return router.read(aContext(canaryFor(router)), live(router))?.canaryWeight;
}

/** Kinds that the sandbox's own gateway answers. */
const answeredBySandbox = ['HTTPRoute', 'HTTPProxy'];

/** Plays the controller of a data plane that reports what it took. Returns its end. */
function playController(router: RoutingProvider): () => Promise<void> {
  let stopped = false;
  const playing = (async () => {
    while (!stopped && fixtureOf(router).answer) {
      for (const object of live(router)) await answer(router, object);
      await sleep(10);
    }
  })();
  return async () => {
    stopped = true;
    await playing;
  };
}

async function answer(router: RoutingProvider, object: KubernetesObject): Promise<void> {
  const { generation = 1, name, namespace = '' } = object.metadata;
  const status = fixtureOf(router).answer?.(object, generation);
  if (answeredBySandbox.includes(object.kind) || JSON.stringify(status) === JSON.stringify(object.status))
    return;
  const path = pathOf(router, { apiVersion: object.apiVersion, kind: object.kind, name, namespace });
  await bed.send('PATCH', `${path}/status`, { status });
}

const canary = () => bed.canary('podinfo');
const seen = async () => statusOf(await canary());

function untilPhase(phase: string): Promise<unknown> {
  return eventually(`phase ${phase}`, async () => (await seen()).phase === phase, { seen });
}

const analysis = { interval: '1s', threshold: 2, stepWeight: 40, maxWeight: 80 };

function manifest(router: RoutingProvider, spec: Record<string, unknown> = {}): object {
  const { metadata, ...object } = canaryFor(router);
  return {
    ...object,
    metadata: { name: metadata.name, namespace: metadata.namespace },
    spec: {
      ...object.spec,
      ...{ analysis, revertOnDeletion: true, progressDeadlineSeconds: 60 },
      postPromotion: { interval: '300ms', successThreshold: 1 },
      ...spec,
    },
  };
}

/** Git has the Deployment; the Canary is applied by somebody, so that nobody creates it again. */
async function begin(router: RoutingProvider): Promise<void> {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1', { name: 'podinfo' }) });
  await createSource(bed);
  expect(await bed.send('POST', canaries, manifest(router))).toMatchObject({ status: 201 });
  stopController = playController(router);
  // Gloo's Upstreams are in a namespace of their own.
  await bed.start({ forbidsOtherNamespaces: false });
}

describe.each(withObjects.map((router) => [router.name, router] as const))('provider %s', (_, router) => {
  test('divides requests by steps though writes are refused and others write too, comes to rest, and hands back', async () => {
    await serve(router);
    const { found = [] } = fixtureOf(router);
    for (const object of found) await create(router, object);
    await begin(router);
    await untilPhase('Initialized');
    expect(router.read(aContext(canaryFor(router)), live(router))).toEqual({
      ...initialTraffic,
      accepted: true,
    });

    const refusals = [409, 404, 403];
    const paths = new Set(referencesOf(router).map((reference) => pathOf(router, reference)));
    const stopRefusing = bed.sandbox.fault(({ method, path }) => {
      const code = method === 'PATCH' && paths.has(path) ? refusals.shift() : undefined;
      return code ? { code, reason: 'Refused', message: `the write of ${path} is refused once` } : undefined;
    });
    const weights = new Set<number | undefined>();
    await bed.commit('v2', { 'web.json': deployment('shop/web:2', { name: 'podinfo' }) });
    await eventually('40 %', async () => weight(router) === 40, { seen });
    const own = referencesOf(router).filter(
      ({ name }) => !found.some(({ metadata }) => metadata.name === name),
    );
    for (const reference of own)
      await bed.send('PATCH', `${pathOf(router, reference)}?fieldManager=somebody`, {
        metadata: { labels: { 'example.com/team': 'shop' } },
        spec: { unheardOf: 'kept' },
      });
    await eventually(
      'phase Succeeded',
      async () => {
        weights.add(weight(router));
        return (await seen()).phase === 'Succeeded';
      },
      { seen },
    );
    stopRefusing();

    expect(refusals).toEqual([]);
    expect([...weights].every((one) => [0, 40, 80, 100].includes(one ?? -1))).toBe(true);
    expect([...weights]).toEqual(expect.arrayContaining([40, 80]));
    expect(weight(router)).toBe(0);
    expect(imageOf(await bed.get('apps/v1', 'Deployment', 'podinfo-primary'))).toBe('shop/web:2');
    for (const { metadata, spec } of live(router).filter(({ metadata: { name } }) =>
      own.some((one) => one.name === name),
    )) {
      expect(metadata.labels).toMatchObject({ 'example.com/team': 'shop' });
      expect(spec).toMatchObject({ unheardOf: 'kept' });
    }
    await bed.pass(3_000);
    bed.sandbox.requests.clear();
    await bed.pass(3_000);
    expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);

    await bed.send('DELETE', `${canaries}/podinfo`);
    await eventually('the Canary is gone', async () => (await canary()) === undefined, { seen });
    expect(weight(router)).toBe(100);
    for (const { metadata } of live(router)) expect(metadata.ownerReferences ?? []).toEqual([]);
    expect((await bed.get('v1', 'Service', 'podinfo'))?.spec).toMatchObject({ selector: { app: 'podinfo' } });
  });
});

const madeFromOthers = withObjects.filter((router) => fixtureOf(router).found !== undefined);

test.each(madeFromOthers.map((router) => [router.name, router] as const))(
  'with %s a Canary waits for the object that its route is made from, and names it',
  async (_, router) => {
    await serve(router);
    await begin(router);
    const { found = [] } = fixtureOf(router);
    const names = found.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    await eventually(
      'the condition names it',
      async () => {
        const { message = '' } = condition(await canary(), 'Ready') ?? {};
        return names.every((name) => message.includes(name));
      },
      { seen },
    );
    expect((await seen()).phase).toBe('Initializing');

    for (const object of found) await create(router, object);
    await untilPhase('Initialized');
    expect(weight(router)).toBe(0);
  },
);

test('an A/B test is refused where the provider cannot tell requests apart, before anything is written', async () => {
  const refusing = withObjects.filter((router) =>
    router.check(canaryFor(router, { analysis: abAnalysis })).some(({ severity }) => severity === 'error'),
  );
  expect(refusing.length).toBeGreaterThan(3);
  await bed.start();
  for (const router of refusing) {
    const name = router.name.replaceAll(':', '-');
    const spec = { analysis: { ...abAnalysis, interval: '1s' } };
    const object = manifest(router, spec) as { metadata: object };
    await bed.send('POST', canaries, { ...object, metadata: { ...object.metadata, name } });
    await eventually(
      `${name} is refused`,
      async () => {
        const ready = condition(await bed.canary(name), 'Ready');
        return ready?.reason === 'InvalidSpec' && ready.message.includes('spec.analysis.match');
      },
      { seen: async () => statusOf(await bed.canary(name)) },
    );
  }
  expect(await bed.get('v1', 'Service', 'podinfo-primary')).toBeUndefined();
});

test('a provider whose CRD is missing is named with its kind, and the Canary goes on once it is there', async () => {
  const [router] = withObjects.filter(({ name }) => name === 'traefik');
  if (!router) throw new Error('traefik is not in the table');
  await begin(router);
  await eventually(
    'the kind is named',
    async () => (condition(await canary(), 'Ready')?.message ?? '').includes('TraefikService'),
    { seen },
  );
  await serve(router);
  await untilPhase('Initialized');
});

const toItself = { hosts: ['podinfo'], http: [{ route: [{ destination: { host: 'podinfo' } }] }] };
const toSides = ['podinfo-primary', 'podinfo-canary'].map((host, index) => ({
  destination: { host },
  weight: 100 - 100 * index,
}));
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

test.each([
  { was: 'applied by Git', spec: toItself, annotations: {}, left: {} },
  {
    was: 'applied by kubectl and taken over by Flagger',
    spec: { hosts: ['podinfo'], gateways: ['mesh'], http: [{ route: toSides }] },
    annotations: { [lastApplied]: JSON.stringify({ spec: toItself }) },
    left: { [lastApplied]: JSON.stringify({ spec: toItself }) },
  },
])('a VirtualService that was $was says again what it said once its Canary is gone', async (before) => {
  const { spec, annotations, left } = before;
  const [router] = withObjects.filter(({ name }) => name === 'istio');
  if (!router) throw new Error('istio is not in the table');
  await serve(router);
  const metadata = { name: 'podinfo', namespace: 'shop', labels: { team: 'shop' }, annotations };
  const reference = { apiVersion: 'networking.istio.io/v1beta1', kind: 'VirtualService' };
  await create(router, { ...reference, metadata, spec });
  await begin(router);
  await untilPhase('Initialized');
  expect(weight(router)).toBe(0);

  await bed.send('DELETE', `${canaries}/podinfo`);
  await eventually('the Canary is gone', async () => (await canary()) === undefined, { seen });

  const after = live(router).find(({ kind }) => kind === 'VirtualService');
  expect(after?.spec).toEqual(toItself);
  expect(after?.metadata.annotations ?? {}).toEqual(left);
  expect(after?.metadata.labels).toMatchObject({ team: 'shop' });
  expect((await bed.get('v1', 'Service', 'podinfo'))?.spec).toMatchObject({ selector: { app: 'podinfo' } });
});
