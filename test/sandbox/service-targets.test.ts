import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { run } from './cli-run.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  follow,
  isNotIdle,
  notesOf,
  runUntilInitialized,
  statusOf,
  storedStatus,
  waitForPhase,
} from './holdfast-bed.ts';
import { fieldsOfHoldfast, otherTool } from './other-tool.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const targetRef = { apiVersion: 'v1', kind: 'Service', name: 'web' };
const analysis = { interval: '1s', iterations: undefined, stepWeight: 40, maxWeight: 80 };

/** The Canary of Service web, behind an HTTPProxy. */
function ofService(more: Record<string, unknown> = {}): string {
  return canary({ spec: { provider: 'contour', targetRef, service: { port: 80 }, ...more }, analysis });
}

/** Service web, which selects the pods of one Deployment. */
function service(app: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop', labels: { team: 'store' } },
    spec: { type: 'NodePort', selector: { app }, ports: [{ port: 80, targetPort: 8080 }] },
  });
}

/** Two Deployments that nobody rolls out. */
const workloads = {
  'one.json': deployment('shop/web:1', { name: 'one' }),
  'two.json': deployment('shop/web:2', { name: 'two' }),
};

async function selected(name: string): Promise<string | undefined> {
  const found = await bed.get('v1', 'Service', name);
  return (found?.spec as { selector?: { app?: string } } | undefined)?.selector?.app;
}

/** What `kubectl edit` sends. */
async function edit(name: string, selector: Record<string, string>): Promise<void> {
  const path = `/api/v1/namespaces/shop/services/${name}?fieldManager=kubectl-edit`;
  await bed.send('PATCH', path, { spec: { selector } });
}

async function startWith(more: Record<string, unknown> = {}): Promise<void> {
  await bed.commit('v1', { ...workloads, 'web.json': service('one'), 'canary.json': ofService(more) });
  await runUntilInitialized(bed, { prune: true });
}

describe('a Canary whose target is a Service', () => {
  test('divides the requests between two copies, and the Service follows what has proved itself', async () => {
    await startWith();
    expect(await Promise.all(['web', 'web-primary', 'web-canary'].map(selected))).toEqual([
      'one',
      'one',
      'one',
    ]);

    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    const seen = new Map<number, string | undefined>();
    await bed.commit('v2', { 'web.json': service('two') });
    await eventually('phase Succeeded', async () => {
      const status = statusOf(await bed.canary());
      if (status.phase === 'Progressing') seen.set(Number(status.canaryWeight), await selected('web'));
      return status.phase === 'Succeeded';
    });
    await eventually(
      'the Service itself selects the new pods',
      async () => (await selected('web')) === 'two',
    );
    sampler.stop();

    expect([...seen]).toEqual(
      expect.arrayContaining([
        [0, 'one'],
        [40, 'one'],
        [80, 'one'],
      ]),
    );
    expect(sampler.totals().failed).toBe(0);
    expect(await selected('web-primary')).toBe('two');
    expect((await bed.get('v1', 'Service', 'web'))?.spec).toMatchObject({ type: 'NodePort' });
    expect((await bed.get('v1', 'Service', 'web-primary'))?.spec).toMatchObject({ type: 'ClusterIP' });
    expect(statusOf(await bed.canary()).serving).toMatchObject([{ workload: 'web-primary', weight: 100 }]);
    await bed.pass(2_000);
    bed.sandbox.requests.clear();
    await bed.pass(2_000);
    expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);
  });

  test('is compared and drilled as it is: a Service and a route, and no pod', async () => {
    await startWith();
    const place = ['--kubeconfig', bed.kubeconfigPath, '-n', 'shop'];
    const compared = await run('diff', 'canary/web', '-o', 'json', ...place);
    const { objects } = JSON.parse(compared.stdout) as { objects: Array<{ kind: string; name: string }> };
    const drilled = await run('drill', '-o', 'json', '--holdfast-namespace', 'default', ...place);

    expect(compared.code).toBe(0);
    expect(objects.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'Service web-primary',
      'HTTPProxy web',
    ]);
    expect(drilled).toMatchObject({ code: 0, text: expect.stringContaining('"objects": 1') });
  });

  test('gets no request on a selector that finds no ready pod, and stays as it was', async () => {
    await startWith();
    const weights = follow(bed, (store) => storedStatus(store).canaryWeight);
    await bed.commit('v2', { 'web.json': service('nobody') });
    await waitForPhase(bed, 'Failed');

    expect([...weights]).toEqual([0]);
    expect(await Promise.all(['web', 'web-primary'].map(selected))).toEqual(['one', 'one']);
    expect(JSON.stringify(statusOf(await bed.canary()).incidents)).toContain('app=nobody');
  });

  test.each(['one', 'nobody'])(
    'whose canary copy somebody leads to %s while it is tried is put back: only what was tried is promoted',
    async (app) => {
      await startWith();
      await bed.commit('v2', { 'web.json': service('two') });
      await eventually('it is tried', async () => Number(statusOf(await bed.canary()).canaryWeight) === 40);
      await edit('web-canary', { app });
      await waitForPhase(bed, 'Succeeded');

      expect(await Promise.all(['web-primary', 'web-canary'].map(selected))).toEqual(['two', 'two']);
      const [told] = notesOf(bed, 'DriftCorrected');
      expect(told).toMatch(/Service shop\/web-canary: kubectl-edit changed spec\.selector/);
    },
  );

  test('whose canary copy cannot be put back at first: what others did is told once, when it is put back', async () => {
    await startWith();
    await bed.commit('v2', { 'web.json': service('two') });
    await eventually('it is tried', async () => Number(statusOf(await bed.canary()).canaryWeight) === 40);
    let refused = 0;
    bed.sandbox.fault(({ method, path, userAgent }) => {
      const isOurs = userAgent.startsWith('holdfast/') && path.includes('/services/web-canary');
      if (method !== 'PATCH' || !isOurs || refused >= 3) return undefined;
      refused += 1;
      return { code: 403, reason: 'Forbidden', message: 'denied by a webhook' };
    });
    await edit('web-canary', { app: 'nobody' });
    await eventually('it was refused', async () => refused === 3, { seen: async () => bed.canary() });
    await waitForPhase(bed, 'Succeeded');

    expect(await Promise.all(['web-primary', 'web-canary'].map(selected))).toEqual(['two', 'two']);
    expect(notesOf(bed, 'DriftCorrected')).toEqual([
      expect.stringMatching(/Service shop\/web-canary: kubectl-edit changed spec\.selector/),
    ]);
  });

  test('whose canary copy somebody deletes while it is tried gets it again, and that is told', async () => {
    await startWith();
    await bed.commit('v2', { 'web.json': service('two') });
    await eventually('it is tried', async () => Number(statusOf(await bed.canary()).canaryWeight) === 40);
    await bed.send('DELETE', '/api/v1/namespaces/shop/services/web-canary');
    await waitForPhase(bed, 'Succeeded');

    expect(await Promise.all(['web-primary', 'web-canary'].map(selected))).toEqual(['two', 'two']);
    const told = notesOf(bed, 'DriftCorrected');
    expect(told).toEqual([
      'put back what others had changed: Service shop/web-canary: was deleted by another client, and is created again',
    ]);
  });

  test('whose primary copy somebody changes is Drifted with the name of the manager, and is written again by the next release', async () => {
    await startWith();
    await edit('web-primary', { app: 'one', tier: 'none' });
    const drifted = () => bed.canary().then((found) => condition(found, 'Drifted'));
    await eventually('it is told', async () => (await drifted())?.status === 'True', { seen: drifted });
    expect((await drifted())?.message).toMatch(/kubectl-edit changed spec\.selector/);

    await bed.commit('v2', { 'web.json': service('two') });
    await waitForPhase(bed, 'Succeeded');
    await eventually('it is as written', async () => (await drifted())?.status === 'False', {
      seen: drifted,
    });
    const primary = await bed.get('v1', 'Service', 'web-primary');
    expect(primary?.spec).toHaveProperty('selector', { app: 'two' });
  });

  /** Release v2, whose checks after promotion run. */
  async function verifying(): Promise<void> {
    const query = 'sandbox_success_rate{namespace="shop",workload="two"}';
    const metrics = [
      { name: 'success', query, thresholdRange: { min: 99 }, interval: '1s', onNoData: 'pass' },
    ];
    await startWith({ postPromotion: { interval: '1s', successThreshold: 20, metrics } });
    await bed.commit('v2', { 'web.json': service('two') });
    await eventually('v2 is verified', async () => {
      const { postPromotion } = statusOf(await bed.canary()) as { postPromotion?: { state?: string } };
      return postPromotion?.state === 'Verifying';
    });
  }

  test('whose primary copy somebody changes while it is verified is put back, and only then proves itself', async () => {
    await verifying();
    await edit('web-primary', { app: 'one' });
    await eventually('it is put back', async () => (await selected('web-primary')) === 'two');
    await waitForPhase(bed, 'Succeeded');

    expect(await selected('web-primary')).toBe('two');
    expect(condition(await bed.canary(), 'Verified')?.status).toBe('True');
  });

  test('goes back to the Service of its last-known-good when checks fail after promotion', async () => {
    await verifying();
    expect(await selected('web-primary')).toBe('two');
    bed.sandbox.behaviour.rule(({ metadata }) =>
      metadata.name.startsWith('two-') ? { errorPercent: 100 } : undefined,
    );
    await waitForPhase(bed, 'Failed');

    expect(await Promise.all(['web', 'web-primary'].map(selected))).toEqual(['one', 'one']);
    expect(condition(await bed.canary(), 'Reverted')?.status).toBe('True');
    expect(bed.sandbox.traffic('shop', 'web').successShare).toBe(1);
  });

  test('that another tool applies is read and never written', async () => {
    const flux = otherTool(bed);
    await flux.apply(...Object.values(workloads), service('one'), ofService());
    await bed.start();
    await waitForPhase(bed, 'Initialized');
    await flux.apply(service('two'));
    await waitForPhase(bed, 'Succeeded');

    expect(await Promise.all(['web-primary', 'web-canary'].map(selected))).toEqual(['two', 'two']);
    expect(fieldsOfHoldfast(await bed.get('v1', 'Service', 'web'))).toEqual([]);
    expect(condition(await bed.canary(), 'RollbackReady')?.status).toBe('True');
  });

  test('hands its traffic to the canary copy when it is deleted, and the Service is as Git says again', async () => {
    await startWith({ revertOnDeletion: true });
    await bed.commit('v2', { 'web.json': service('nobody') });
    await waitForPhase(bed, 'Failed');
    const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
    await bed.commit('the Canary goes', { 'canary.json': null });
    await bed.send('DELETE', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web');
    await eventually('the Canary is gone', async () => (await bed.canary()) === undefined, {
      seen: async () => statusOf(await bed.canary()),
    });
    await eventually('the Service is as in Git', async () => (await selected('web')) === 'nobody');
    sampler.stop();

    expect(sampler.totals().failed).toBe(0);
    expect(await selected('web-canary')).toBe('one');
    expect((await bed.get('v1', 'Service', 'web-canary'))?.metadata.ownerReferences ?? []).toEqual([]);
  });

  test('is taken over as Flagger left it, with a primary that lost its owner when it was promoted', async () => {
    await bed.commit('v1', { ...workloads, 'web.json': service('two'), 'canary.json': ofService() });
    const own = JSON.parse(ofService()) as KubernetesObject;
    const { body } = await bed.send('POST', '/apis/flagger.app/v1beta1/namespaces/shop/canaries', own);
    const { uid } = (body as KubernetesObject).metadata;
    const owner = { apiVersion: own.apiVersion, kind: 'Canary', name: 'web', uid, controller: true };
    const copies = { 'web-primary': [], 'web-canary': [owner] };
    for (const [name, ownerReferences] of Object.entries(copies)) {
      const { spec } = JSON.parse(service('two')) as KubernetesObject;
      const metadata = { name, namespace: 'shop', ownerReferences };
      const object = { apiVersion: 'v1', kind: 'Service', metadata, spec };
      await bed.send('POST', '/api/v1/namespaces/shop/services?fieldManager=flagger', object);
    }
    const status = { phase: 'Succeeded', lastAppliedSpec: '58b6d4', lastPromotedSpec: '58b6d4' };
    await bed.send('PATCH', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web/status', {
      status: { ...status, lastTransitionTime: '2026-01-01T00:00:00Z' },
    });
    await createSource(bed);
    await bed.start();
    await eventually(
      'it is taken over',
      async () => {
        const now = statusOf(await bed.canary());
        return now.phase === 'Succeeded' && now.lastKnownGood !== undefined;
      },
      { seen: async () => statusOf(await bed.canary()) },
    );
    const primary = await bed.get('v1', 'Service', 'web-primary');

    expect(primary?.metadata.ownerReferences).toMatchObject([{ kind: 'Canary', name: 'web' }]);
    expect(primary?.metadata.annotations?.['holdfast.dev/digest']).toMatch(/^v1:/);
    expect(statusOf(await bed.canary()).history ?? []).toEqual([]);
  });
});
