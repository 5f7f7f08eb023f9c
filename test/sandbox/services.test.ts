import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import {
  canary,
  condition,
  deployment,
  eventually,
  follow,
  isNotIdle,
  onGateway,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { otherTool } from './other-tool.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

const services = '/api/v1/namespaces/shop/services';
const canaries = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';
let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

interface Spec {
  type?: string;
  selector?: Record<string, string>;
  ports?: Array<{ name?: string; port: number; targetPort?: unknown }>;
}

/** Service web of somebody else: two ports, of which the Canary declares one. */
function ownService(metricsPort = 9090): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop', labels: { team: 'store' } },
    spec: {
      type: 'NodePort',
      selector: { app: 'web' },
      ports: [
        { name: 'http', port: 80, targetPort: 8080 },
        { name: 'metrics', port: metricsPort, targetPort: 8080 },
      ],
    },
  };
}

async function live(name = 'web'): Promise<KubernetesObject | undefined> {
  return bed.get('v1', 'Service', name);
}

async function specOf(name = 'web'): Promise<Spec> {
  return ((await live(name))?.spec ?? {}) as Spec;
}

const portNumbers = ({ ports = [] }: Spec) => ports.map(({ port }) => port).sort((a, b) => a - b);

async function becomesGone(): Promise<void> {
  await bed.send('DELETE', `${canaries}/web`);
  const seen = async () => statusOf(await bed.canary());
  await eventually('the Canary is gone', async () => (await bed.canary()) === undefined, { seen });
}

async function becomesIdle(): Promise<void> {
  await eventually('nothing is asked for a second', async () => {
    bed.sandbox.requests.clear();
    await bed.pass(20_000);
    return bed.sandbox.requests.all().filter(isNotIdle).length === 0;
  });
}

test('a Service that was there keeps its type, labels and other ports, and is given back on deletion', async () => {
  await bed.send('POST', services, ownService());
  await bed.send('POST', canaries, JSON.parse(canary({ spec: { revertOnDeletion: true } })));
  await bed.commit('v1', { 'web.json': deployment('shop/web:1') });
  await runUntilInitialized(bed);

  expect(await specOf()).toMatchObject({ type: 'NodePort', selector: { app: 'web-primary' } });
  expect(portNumbers(await specOf())).toEqual([80, 9090]);
  expect((await live())?.metadata).toMatchObject({
    labels: { team: 'store' },
    annotations: {
      'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
      'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
      'holdfast.dev/taken-over': '80/TCP',
    },
  });
  expect((await live())?.metadata.ownerReferences ?? []).toEqual([]);

  await becomesGone();
  expect(await specOf()).toMatchObject({ type: 'NodePort', selector: { app: 'web' } });
  expect(portNumbers(await specOf())).toEqual([80, 9090]);
  expect((await live())?.metadata.annotations ?? {}).toEqual({});
});

test('a label that somebody adds to the selector of a Service by hand is taken off: no pod has it', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
  const names = ['web', 'web-primary'];
  const selectors = () => Promise.all(names.map(async (name) => (await specOf(name)).selector));
  const spec = { selector: { version: 'new' } };

  for (const name of names) await bed.send('PATCH', `${services}/${name}`, { spec });

  const wanted = JSON.stringify(names.map(() => ({ app: 'web-primary' })));
  await eventually('the selectors are whole', async () => JSON.stringify(await selectors()) === wanted, {
    seen: selectors,
  });
  await becomesIdle();
});

test('a Service of the same repository is shared without a fight, and is Git’s alone again afterwards', async () => {
  const analysis = { interval: '500ms', iterations: 1 };
  await bed.send('POST', canaries, JSON.parse(canary({ analysis, spec: { revertOnDeletion: true } })));
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'service.json': JSON.stringify(ownService()),
  });
  await runUntilInitialized(bed);
  await becomesIdle();
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });

  await bed.commit('v2', {
    'web.json': deployment('shop/web:2'),
    'service.json': JSON.stringify(ownService(9191)),
  });
  await waitForPhase(bed, 'Succeeded');
  await becomesIdle();
  sampler.stop();

  expect(sampler.totals().failed).toBe(0);
  expect((await specOf()).selector).toEqual({ app: 'web-primary' });
  expect(portNumbers(await specOf())).toEqual([80, 9191]);
  expect(condition(await bed.source(), 'Ready')?.status).toBe('True');

  await becomesGone();
  await becomesIdle();
  expect((await specOf()).selector).toEqual({ app: 'web' });
  expect((await live())?.metadata.annotations ?? {}).toEqual({});
});

test.each([
  ['by hand', {}],
  ['by hand behind a gateway', onGateway],
  ['in Git', {}],
])(
  'the port of the Canary changes on a Service that was there, which is kept %s',
  async (kept, given: Partial<typeof onGateway>) => {
    const isInGit = kept === 'in Git';
    const files = (image: string, port: number) => {
      const service = ownService() as { spec: Spec } & KubernetesObject;
      const [http, ...others] = service.spec.ports ?? [];
      service.spec.ports = [{ ...http, port }, ...others];
      return {
        'web.json': deployment(image),
        'canary.json': canary({
          spec: { ...given, service: { targetPort: 8080, ...given.service, port } },
          analysis: { iterations: 1 },
        }),
        ...(isInGit ? { 'service.json': JSON.stringify(service) } : {}),
      };
    };
    if (!isInGit) await bed.send('POST', services, ownService());
    await bed.commit('v1', files('shop/web:1', 80));
    await runUntilInitialized(bed);
    await becomesIdle();
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    const troubles = follow(bed, (store) => {
      const ready = condition(store.get('holdfast.dev/sources', 'shop', 'shop'), 'Ready');
      return ready?.status === 'False' ? ready.message : '';
    });

    await bed.commit('v2', files('shop/web:2', 90));
    await waitForPhase(bed, 'Succeeded');
    await becomesIdle();
    sampler.stop();

    expect([...troubles]).toEqual(['']);
    expect(sampler.totals().failed).toBe(0);
    expect(condition(await bed.source(), 'Ready')?.status).toBe('True');
    expect(condition(await bed.canary(), 'Ready')?.status).toBe('True');
    const ports = Object.fromEntries(((await specOf()).ports ?? []).map(({ name, port }) => [port, name]));
    expect(ports).toEqual(
      isInGit ? { 90: 'http', 9090: 'metrics' } : { 80: 'http', 90: 'http-90', 9090: 'metrics' },
    );
  },
);

test('a Service that is added to Git later takes the generated one over without an outage', async () => {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await runUntilInitialized(bed);
  expect((await live())?.metadata.ownerReferences).toHaveLength(1);
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });

  await bed.commit('own Service', { 'service.json': JSON.stringify(ownService()) });
  await eventually('both ports are there', async () => portNumbers(await specOf()).length === 2, {
    seen: live,
  });
  await becomesIdle();
  sampler.stop();

  expect(sampler.totals().failed).toBe(0);
  expect(await specOf()).toMatchObject({ type: 'NodePort', selector: { app: 'web-primary' } });
  expect((await live())?.metadata.ownerReferences ?? []).toEqual([]);
});

test('a route of the same repository is left to the rollout, but for its metadata', async () => {
  const gatewayRefs = [{ name: 'gateway', namespace: 'gateways' }];
  const route = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'web', namespace: 'shop', annotations: { note: 'ours' } },
    spec: { parentRefs: gatewayRefs, rules: [{ backendRefs: [{ name: 'web', port: 80 }] }] },
  };
  const service = { port: 80, targetPort: 8080, gatewayRefs };
  const spec = { provider: 'gatewayapi:v1', service, revertOnDeletion: true };
  const analysis = { interval: '500ms', iterations: undefined, stepWeight: 50 };
  await bed.commit('v1', {
    'web.json': deployment('shop/web:1'),
    'route.json': JSON.stringify(route),
    'canary.json': canary({ spec, analysis }),
  });
  await runUntilInitialized(bed);
  await becomesIdle();
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  await becomesIdle();

  const found = await bed.get('gateway.networking.k8s.io/v1', 'HTTPRoute', 'web');
  expect(found?.metadata.annotations).toMatchObject({ note: 'ours', 'holdfast.dev/taken-over': 'spec' });
  expect(found?.metadata.ownerReferences ?? []).toEqual([]);
  expect(statusOf(await bed.canary()).canaryWeight).toBe(0);
});

test('a deleted Canary behind a route leaves an apex Service that selects the target', async () => {
  const service = { port: 80, targetPort: 8080, gatewayRefs: [{ name: 'gateway', namespace: 'gateways' }] };
  const spec = { provider: 'gatewayapi:v1', service, revertOnDeletion: true };
  const analysis = { iterations: undefined, stepWeight: 50 };
  await bed.send('POST', canaries, JSON.parse(canary({ spec, analysis })));
  await bed.commit('v1', { 'web.json': deployment('shop/web:1') });
  await runUntilInitialized(bed);
  expect((await specOf()).selector).toEqual({ app: 'web-primary' });

  await becomesGone();
  expect((await specOf()).selector).toEqual({ app: 'web' });
});

test('a deleted Canary leaves an apex Service that selects the target also while the release of a target that another tool applies cannot be read', async () => {
  const spec = { ...onGateway, revertOnDeletion: true };
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' } };
  const web = JSON.parse(deployment('shop/web:1'));
  web.spec.template.spec.volumes = [{ name: 'settings', configMap: { name: 'settings' } }];
  const tool = otherTool(bed);
  await tool.apply(JSON.stringify({ ...config, data: { mode: 'fast' } }), JSON.stringify(web));
  await tool.apply(canary({ spec, analysis: { iterations: undefined, stepWeight: 50 } }));
  await bed.start();
  await waitForPhase(bed, 'Initialized');
  await becomesIdle();
  bed.sandbox.fault(({ method, path, userAgent }) =>
    method === 'GET' && path.endsWith('/configmaps/settings') && userAgent.startsWith('holdfast/')
      ? { code: 403, reason: 'Forbidden', message: 'configmaps is forbidden' }
      : undefined,
  );
  await tool.apply(JSON.stringify({ ...config, data: { mode: 'slow' } }));

  await becomesGone();
  expect((await specOf()).selector).toEqual({ app: 'web' });
});
