import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type Bed,
  canary,
  createSource,
  deployment,
  eventually,
  imageOf,
  startBed,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';

const path = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';
let bed: Bed;
beforeEach(async () => {
  bed = await startBed();
});
afterEach(() => bed.close());

const isGone = async () => (await bed.canary()) === undefined;
const finalizersOf = async () => (await bed.canary())?.metadata.finalizers ?? [];

/** v1 proved itself; Git holds the Deployment only, so that nobody creates the Canary again. */
async function running(spec: Record<string, unknown> = {}): Promise<void> {
  await bed.send('POST', path, JSON.parse(canary({ spec: { revertOnDeletion: true, ...spec } })));
  await bed.commit('v1', { 'web.json': deployment('shop/web:1') });
  await createSource(bed);
  await bed.start();
  await waitForPhase(bed, 'Initialized');
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
  await new Promise((resolve) => setTimeout(resolve, 300));
  sampler.stop();

  expect(sampler.totals().failed).toBe(0);
  expect(sampler.totals().requests).toBeGreaterThan(0);
  expect(await bed.get('apps/v1', 'Deployment', 'web')).toMatchObject({ spec: { replicas: 2 } });
  expect((await bed.get('v1', 'Service', 'web'))?.metadata.ownerReferences ?? []).toEqual([]);

  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await bed.send('POST', path, JSON.parse(canary({ spec: { skipAnalysis: true } })));
  await waitForPhase(bed, 'Succeeded', 30_000);
  await eventually('v2 is promoted over v1 from its record', async () => {
    const image = imageOf(await bed.get('apps/v1', 'Deployment', 'web-primary'));
    return image === 'shop/web:2' && statusOf(await bed.canary()).phase === 'Succeeded';
  });
});

test('a target that does not come up holds the deletion up for its deadline only', async () => {
  await running({ progressDeadlineSeconds: 1 });
  bed.sandbox.behaviour.rule((pod) =>
    pod.metadata.name.startsWith('web-primary-') ? undefined : { failure: 'ImagePullBackOff' },
  );
  await bed.send('DELETE', `${path}/web`);
  const beganMs = Date.now();
  await eventually('the Canary is gone', isGone, { timeoutMs: 60_000 });
  expect(Date.now() - beganMs).toBeGreaterThan(20_000);
});

test('a Canary whose spec broke meanwhile is not held up for ever', async () => {
  await running({ progressDeadlineSeconds: 0 });
  const broken = { spec: { provider: 'istio' } };
  await bed.send('PATCH', `${path}/web`, broken, 'application/merge-patch+json');
  await bed.send('DELETE', `${path}/web`);
  await eventually('the Canary is gone', isGone, { timeoutMs: 80_000 });
});

test('switching revertOnDeletion off takes the finalizer away', async () => {
  await running();
  const off = { spec: { revertOnDeletion: false } };
  await bed.send('PATCH', `${path}/web`, off, 'application/merge-patch+json');
  await eventually('no finalizer is left', async () => (await finalizersOf()).length === 0);
  await bed.send('DELETE', `${path}/web`);
  await eventually('the Canary is gone', isGone);
});
