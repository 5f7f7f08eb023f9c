import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { App } from '../../src/server/app.ts';
import {
  canary,
  condition,
  deployment,
  eventually,
  onGateway,
  primaryImage,
  runUntilInitialized,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

const path = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';
let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const isGone = async () => (await bed.canary()) === undefined;
const finalizersOf = async () => (await bed.canary())?.metadata.finalizers ?? [];

/** A Deployment whose pods mount a ConfigMap. */
function withConfig(image: string): string {
  const object = JSON.parse(deployment(image)) as { spec: { template: { spec: Record<string, unknown> } } };
  object.spec.template.spec.volumes = [{ name: 'config', configMap: { name: 'web-config' } }];
  return JSON.stringify(object);
}

const config = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'web-config', namespace: 'shop' },
  data: { colour: 'blue' },
};

/** Messages of the events of one reason. */
async function newsOf(reason: string): Promise<string[]> {
  const { body } = await bed.send('GET', '/apis/events.k8s.io/v1/namespaces/shop/events');
  const { items } = body as { items: Array<{ reason: string; note: string }> };
  return items.filter((event) => event.reason === reason).map(({ note }) => note);
}

/** v1 proved itself; Git holds the Deployment only, so that nobody creates the Canary again. */
async function running(spec: Record<string, unknown> = {}): Promise<App> {
  await bed.send('POST', path, JSON.parse(canary({ spec: { revertOnDeletion: true, ...spec } })));
  await bed.commit('v1', { 'web.json': withConfig('shop/web:1'), 'config.json': JSON.stringify(config) });
  const app = await runUntilInitialized(bed);
  return app;
}

test('a deleted Canary hands its traffic back without a failed request, and its records stay', async () => {
  await running();
  expect(await finalizersOf()).toEqual(['finalizer.flagger.app']);
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });

  await bed.send('DELETE', `${path}/web`);
  await eventually('the Canary is gone', isGone);
  await eventually('the primary is collected', async () => {
    return (await bed.get('apps/v1', 'Deployment', 'web-primary')) === undefined;
  });
  await bed.pass(300);
  sampler.stop();

  expect(sampler.totals().failed).toBe(0);
  expect(sampler.totals().requests).toBeGreaterThan(0);
  expect(await bed.get('apps/v1', 'Deployment', 'web')).toMatchObject({ spec: { replicas: 2 } });
  expect((await bed.get('v1', 'Service', 'web'))?.metadata.ownerReferences ?? []).toEqual([]);

  await bed.commit('v2', { 'web.json': withConfig('shop/web:2') });
  await bed.send('POST', path, JSON.parse(canary({ spec: { skipAnalysis: true } })));
  await waitForPhase(bed, 'Succeeded');
  await eventually('v2 is promoted over v1 from its record', async () => {
    const image = await primaryImage(bed);
    return image === 'shop/web:2' && statusOf(await bed.canary()).phase === 'Succeeded';
  });
});

test('a Canary that is asked to hand its traffic back does so although its spec is invalid otherwise', async () => {
  await running({ revertOnDeletion: false });
  const broken = { sessionAffinity: { cookieName: 'a', primaryCookieName: 'a' } };
  const patch = { spec: { revertOnDeletion: true, analysis: broken } };
  await bed.send('PATCH', `${path}/web`, patch);
  await eventually(
    'it says so',
    async () => condition(await bed.canary(), 'Ready')?.reason === 'InvalidSpec',
  );
  await eventually('the finalizer is there', async () => (await finalizersOf()).length > 0);
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });

  await bed.send('DELETE', `${path}/web`);
  await eventually('the Canary is gone', isGone);
  await expectTargetServes();
  sampler.stop();

  expect(sampler.totals().failed).toBe(0);
});

/** Every write of the status is answered with this code. */
function refuseStatus(code: number): void {
  bed.sandbox.fault(({ method, path: at, userAgent }) =>
    method === 'PATCH' && at === `${path}/web/status` && userAgent.startsWith('holdfast/')
      ? { code, message: 'denied by a webhook' }
      : undefined,
  );
}

/** The target serves alone, with what the Canary leaves. */
async function expectTargetServes(): Promise<void> {
  await eventually('the primary is collected', async () => {
    return (await bed.get('apps/v1', 'Deployment', 'web-primary')) === undefined;
  });
  await bed.pass(300);
  expect(await bed.get('apps/v1', 'Deployment', 'web')).toMatchObject({ spec: { replicas: 2 } });
  expect((await bed.get('v1', 'Service', 'web'))?.metadata.ownerReferences ?? []).toEqual([]);
}

const refusals = [403, 409, 500];

test.each(refusals)(
  'a deleted Canary hands its traffic back while writes of its status are answered with %i',
  async (code) => {
    await running();
    refuseStatus(code);
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });

    expect(await deleted()).toBeLessThan(60_000);
    await expectTargetServes();
    sampler.stop();

    expect(sampler.totals().failed).toBe(0);
  },
);

test.each(refusals)(
  'also if the process ends soon after each look (%i), once one lives long enough to see the target ready',
  async (code) => {
    const app = await running();
    refuseStatus(code);
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    await app.drain();
    await bed.send('DELETE', `${path}/web`);
    for (let life = 0; life < 5; life += 1) {
      const next = await bed.start();
      await next.leading;
      await bed.pass(1_500);
      await next.drain();
    }
    // On a busy machine one of them may have lived long enough already.
    await bed.start();
    await eventually('the Canary is gone', isGone);
    await expectTargetServes();
    sampler.stop();

    expect(sampler.totals().failed).toBe(0);
  },
);

/** The target's pods cannot start from now on; the primary's run. */
function breakTarget(): void {
  bed.sandbox.behaviour.rule((pod) =>
    pod.metadata.name.startsWith('web-primary-') ? undefined : { failure: 'ImagePullBackOff' },
  );
}

/** Deletes the Canary and gives the time until it is gone, on the bed's clock. */
async function deleted(): Promise<number> {
  const beganMs = bed.clock.nowMs();
  await bed.send('DELETE', `${path}/web`);
  await eventually('the Canary is gone', isGone, { timeoutMs: 120_000 });
  return bed.clock.nowMs() - beganMs;
}

/** What was made for the Canary stays without an owner, the config copy that the pods mount among it. */
async function expectPrimaryStays(): Promise<void> {
  await bed.pass(5_000);
  for (const [apiVersion, kind, name] of [
    ['apps/v1', 'Deployment', 'web-primary'],
    ['v1', 'ConfigMap', 'web-config-primary'],
    ['v1', 'Service', 'web'],
    ['v1', 'Service', 'web-primary'],
  ] as const) {
    const found = await bed.get(apiVersion, kind, name);
    expect([name, found?.metadata.ownerReferences ?? []]).toEqual([name, []]);
    expect([name, found === undefined]).toEqual([name, false]);
  }
}

test.each(refusals)('and lets go of a target that does not come up after its deadline (%i)', async (code) => {
  await running({ progressDeadlineSeconds: 1 });
  breakTarget();
  refuseStatus(code);
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  expect(await deleted()).toBeLessThan(180_000);
  await expectPrimaryStays();
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
});

test('a Canary of another name for the same target begins once the one before has handed its traffic back', async () => {
  await running(onGateway);
  const spec = { ...onGateway, targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } };
  await bed.send('POST', path, JSON.parse(canary({ name: 'next', spec })));
  const whyNot = async () => condition(await bed.canary('next'), 'Ready')?.message ?? '';
  await eventually('it waits', async () => (await whyNot()).includes('spec.revertOnDeletion'));
  const scaled: unknown[] = [];
  bed.sandbox.store.subscribe(({ storageKey, object }) => {
    const { replicas } = (object?.spec ?? {}) as { replicas?: number };
    const isTarget = storageKey === 'apps/deployments' && object?.metadata.name === 'web';
    if (isTarget && scaled.at(-1) !== replicas) scaled.push(replicas);
  });
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });

  await bed.send('DELETE', `${path}/web`);

  await eventually('it is told for what', async () => (await whyNot()).includes('which is being deleted'));
  const phase = async () => statusOf(await bed.canary('next')).phase;
  await eventually('it has begun', async () => (await phase()) === 'Initialized', { seen: bed.canary });
  sampler.stop();
  expect(await isGone()).toBe(true);
  expect(scaled).toEqual([2, 0]);
  expect(sampler.totals().failed).toBe(0);
});

test('a target that does not come up holds the deletion up for its deadline only, and the primary goes on serving', async () => {
  await running({ progressDeadlineSeconds: 1 });
  breakTarget();
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  expect(await deleted()).toBeGreaterThan(20_000);
  await expectPrimaryStays();
  await eventually('a person is told', async () => (await newsOf('HandBackGivenUp')).length === 1);
  expect((await newsOf('HandBackGivenUp'))[0]).toContain('web-primary stays without an owner');
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
  expect(sampler.totals().requests).toBeGreaterThan(1000);
});

test('a primary that was left behind is taken over by a Canary of the same name, which owns what it writes', async () => {
  await running({ progressDeadlineSeconds: 1 });
  const undo = bed.sandbox.behaviour.rule((pod) =>
    pod.metadata.name.startsWith('web-primary-') ? undefined : { failure: 'ImagePullBackOff' },
  );
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  await deleted();
  undo();
  await bed.send('POST', path, JSON.parse(canary()));
  await waitForPhase(bed, 'Succeeded');
  await bed.commit('v2', { 'web.json': withConfig('shop/web:2') });
  await eventually('v2 is promoted', async () => {
    const image = await primaryImage(bed);
    return image === 'shop/web:2' && statusOf(await bed.canary()).phase === 'Succeeded';
  });
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
  const uid = (await bed.canary())?.metadata.uid;
  const primary = await bed.get('apps/v1', 'Deployment', 'web-primary');
  expect(primary?.metadata.ownerReferences).toMatchObject([{ uid }]);
});

test('a deletion is given up also where Holdfast has no rights on the routes of other providers', async () => {
  await running({ progressDeadlineSeconds: 1 });
  breakTarget();
  // As installed with --providers kubernetes.
  bed.sandbox.fault(({ path: at, userAgent }) =>
    at.includes('/apis/gateway.networking.k8s.io/') && userAgent.startsWith('holdfast/')
      ? { code: 403, reason: 'Forbidden', message: 'httproutes is forbidden' }
      : undefined,
  );
  await deleted();
  await expectPrimaryStays();
});

/** Generated objects as Flagger makes them: owned by the Canary, without a label of ours. */
async function takeLabels(): Promise<void> {
  const unlabelled = { metadata: { labels: { 'holdfast.dev/canary': null } } };
  for (const generated of ['services/web', 'services/web-primary', 'configmaps/web-config-primary'])
    await bed.send('PATCH', `/api/v1/namespaces/shop/${generated}`, unlabelled);
}

/** The spec cannot be acted on, and none is kept that could be: as where a version before kept none. */
async function breakSpec(spec: Record<string, unknown>): Promise<void> {
  const patch = (at: string, body: unknown) => bed.send('PATCH', `${path}/web${at}`, body);
  await patch('', { spec });
  await eventually('it is told', async () => {
    return condition(await bed.canary(), 'Ready')?.reason === 'InvalidSpec';
  });
  await patch('/status', { status: { specInForce: null } });
}

test('a Canary whose spec broke meanwhile is not held up for ever, and all that serves stays', async () => {
  await running({ progressDeadlineSeconds: 0 });
  await breakSpec({ provider: 'appmesh' });
  await takeLabels();
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  expect(await deleted()).toBeGreaterThan(50_000);
  await expectPrimaryStays();
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
  await eventually('a person is told', async () => (await newsOf('HandBackGivenUp')).length === 1);
});

test('a Canary whose spec broke goes at once when revertOnDeletion is off', async () => {
  await running();
  await breakSpec({ provider: 'appmesh', revertOnDeletion: false });
  expect(await deleted()).toBeLessThan(20_000);
});

test('switching revertOnDeletion off takes the finalizer away', async () => {
  await running();
  const off = { spec: { revertOnDeletion: false } };
  await bed.send('PATCH', `${path}/web`, off);
  await eventually('no finalizer is left', async () => (await finalizersOf()).length === 0);
  await bed.send('DELETE', `${path}/web`);
  await eventually('the Canary is gone', isGone);
});

test('while the route of a deleted Canary cannot be released it is tried once a minute, and the Canary goes once it can', async () => {
  await running({ ...onGateway, progressDeadlineSeconds: 0 });
  const isWrite = ({ method, path: at, userAgent }: { method: string; path: string; userAgent: string }) =>
    method !== 'GET' && userAgent.startsWith('holdfast/') && !at.includes('/leases');
  const allow = bed.sandbox.fault((request) =>
    isWrite(request) && request.path.includes('/namespaces/shop/httproutes')
      ? { code: 403, reason: 'Forbidden', message: 'denied by a webhook' }
      : undefined,
  );
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  await bed.send('DELETE', `${path}/web`);
  // The core's half minute and the engine's minute.
  await bed.pass(120_000);
  bed.sandbox.requests.clear();
  await bed.pass(60_000);
  // What is released, and written once more where the release is refused.
  expect(bed.sandbox.requests.all().filter(isWrite).length).toBeLessThan(20);
  expect(condition(await bed.canary(), 'Stalled')).toMatchObject({ status: 'True', reason: 'Forbidden' });
  allow();
  await eventually('the Canary is gone', isGone, { timeoutMs: 600_000 });
  await expectPrimaryStays();
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
});

test('while a policy keeps the owner of a Service, a deleted Canary stays and says so, and no request fails', async () => {
  await running({ ...onGateway, progressDeadlineSeconds: 0 });
  const { store } = bed.sandbox;
  const { put } = store;
  Object.assign(store, {
    put(key: string, sent: KubernetesObject): KubernetesObject {
      const { ownerReferences } = store.get(key, 'shop', sent.metadata.name)?.metadata ?? {};
      if (key !== '/services' || !ownerReferences) return put(key, sent);
      return put(key, { ...sent, metadata: { ...sent.metadata, ownerReferences } });
    },
  });
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  await bed.send('DELETE', `${path}/web`);
  const ready = await eventually(
    'it is told',
    async () => {
      const found = condition(await bed.canary(), 'Ready');
      return found?.reason === 'ForeignChange' && found;
    },
    { seen: async () => statusOf(await bed.canary()), timeoutMs: 60_000 },
  );
  expect(ready.message).toMatch(
    /Service shop\/web\S*: metadata\.ownerReferences still names Canary shop\/web right after it was written/,
  );
  Object.assign(store, { put });
  await eventually('the Canary is gone', isGone, { timeoutMs: 60_000 });
  await bed.pass(5_000);
  sampler.stop();
  expect(sampler.totals().failed).toBe(0);
});
