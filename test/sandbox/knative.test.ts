import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { startTestServer, type TestServer } from '../../src/http/testing/servers.ts';
import { knativeCrds } from '../knative/crds.ts';
import { type KnativePlayer, playKnative } from '../knative/player.ts';
import { run } from './cli-run.ts';
import {
  canary,
  condition,
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
let player: KnativePlayer;
let prometheus: TestServer;
/** Revisions whose requests fail. */
let failing: Set<string>;

beforeEach(async () => {
  bed = await startQuickBed();
  failing = new Set();
  for (const crd of knativeCrds)
    await bed.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  player = playKnative(
    async (method, path, body, contentType) => (await bed.send(method, path, body, contentType)).body,
    'shop',
    { fails: ({ spec }) => JSON.stringify(spec).includes('broken'), intervalMs: 5 },
  );
  prometheus = await startTestServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const asked = decodeURIComponent(`${request.url}${Buffer.concat(chunks).toString()}`);
    const isBad = [...failing].some((revision) => asked.includes(`shop/${revision}`));
    const result = [{ metric: {}, value: [bed.clock.nowMs() / 1_000, isBad ? '0' : '100'] }];
    response.end(JSON.stringify({ status: 'success', data: { resultType: 'vector', result } }));
  });
});
afterEach(async () => {
  await player.stop();
  await bed.close();
  await prometheus.close();
});

const targetRef = { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: 'web' };
const metrics = [{ name: 'request-success-rate', thresholdRange: { min: 99 }, interval: '1s' }];
const analysis = { interval: '1s', iterations: undefined, stepWeight: 40, maxWeight: 80, metrics };

function ofKnative(more: Record<string, unknown> = {}): string {
  return canary({
    spec: { provider: 'knative', targetRef, service: { port: 80 }, progressDeadlineSeconds: 60, ...more },
    analysis,
  });
}

function service(image: string): string {
  return JSON.stringify({
    apiVersion: 'serving.knative.dev/v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { template: { metadata: { annotations: { team: 'store' } }, spec: { containers: [{ image }] } } },
  });
}

const live = () => bed.get('serving.knative.dev/v1', 'Service', 'web');

/** Shares by revision as the Service asks for them, `latest` for the newest. */
function trafficOf(object: KubernetesObject | undefined): Record<string, number> {
  const { traffic: entries = [] } = (object?.spec ?? {}) as {
    traffic?: Array<{ revisionName?: string; percent: number }>;
  };
  return Object.fromEntries(entries.map(({ revisionName = 'latest', percent }) => [revisionName, percent]));
}

const traffic = async () => trafficOf(await live());

async function primaryRevision(): Promise<string | undefined> {
  return (await live())?.metadata.annotations?.['flagger.app/primary-revision'];
}

/** From now on the API server stores the Service as an admission policy makes it; the returned function ends that. */
function policy(change: (sent: KubernetesObject, stored: KubernetesObject) => void): () => void {
  const { store } = bed.sandbox;
  const { put } = store;
  Object.assign(store, {
    put(key: string, sent: KubernetesObject): KubernetesObject {
      const stored = store.get(key, 'shop', sent.metadata.name);
      if (key !== 'serving.knative.dev/services' || !stored) return put(key, sent);
      const changed = structuredClone(sent);
      change(changed, stored);
      const isSame = [changed.spec, changed.status, changed.metadata.annotations].every(
        (part, index) =>
          JSON.stringify(part) ===
          JSON.stringify([stored.spec, stored.status, stored.metadata.annotations][index]),
      );
      return isSame ? stored : put(key, changed);
    },
  });
  return () => void Object.assign(store, { put });
}

/** Writes of the Service by Holdfast in so much of the bed's time. */
async function writesIn(durationMs: number): Promise<number> {
  bed.sandbox.requests.clear();
  await bed.pass(durationMs);
  return bed.sandbox.requests
    .writes()
    .filter(({ path, userAgent }) => path.endsWith('/services/web') && userAgent.startsWith('holdfast/'))
    .length;
}

async function startWith(more: Record<string, unknown> = {}): Promise<void> {
  await bed.commit('v1', { 'web.json': service('shop/web:1'), 'canary.json': ofKnative(more) });
  await runUntilInitialized(bed, { prune: true }, { metricsServer: prometheus.url });
}

describe('a Canary whose target is a Knative Service', () => {
  test('13: a revision gets its share step by step and becomes the primary; the next one is stopped under errors', async () => {
    await startWith();
    expect(await traffic()).toEqual({ latest: 0, 'web-00001': 100 });

    const seen = follow(bed, (store) =>
      JSON.stringify(trafficOf(store.get('serving.knative.dev/services', 'shop', 'web'))),
    );
    await bed.commit('v2', { 'web.json': service('shop/web:2') });
    await eventually('phase Succeeded', async () => statusOf(await bed.canary()).phase === 'Succeeded', {
      seen: async () => ({ status: statusOf(await bed.canary()), live: await live() }),
    });
    expect([...seen]).toEqual(
      expect.arrayContaining([
        JSON.stringify({ 'web-00002': 40, 'web-00001': 60 }),
        JSON.stringify({ 'web-00002': 80, 'web-00001': 20 }),
      ]),
    );
    expect(await primaryRevision()).toBe('web-00002');
    expect(await traffic()).toEqual({ latest: 0, 'web-00002': 100 });
    expect(statusOf(await bed.canary()).serving).toMatchObject([{ workload: 'web-00002', weight: 100 }]);

    failing.add('web-00003');
    await bed.commit('v3', { 'web.json': service('shop/web:3') });
    await waitForPhase(bed, 'Failed');
    expect(await primaryRevision()).toBe('web-00002');
    expect(await traffic()).toEqual({ latest: 0, 'web-00002': 100 });
    await bed.pass(2_000);
    bed.sandbox.requests.clear();
    await bed.pass(2_000);
    expect(bed.sandbox.requests.all().filter(isNotIdle)).toEqual([]);
    const place = ['-o', 'json', '--kubeconfig', bed.kubeconfigPath, '-n', 'shop'];
    expect(await run('diff', 'canary/web', ...place)).toMatchObject({
      code: 0,
      text: expect.stringContaining('"Service"'),
    });
    expect(await run('drill', '--holdfast-namespace', 'default', ...place)).toMatchObject({ code: 0 });
  });

  test('whose traffic somebody changes, during a release or after it, is put back, and that is told with who it was', async () => {
    const give = (revisionName: string) =>
      bed.send('PATCH', '/apis/serving.knative.dev/v1/namespaces/shop/services/web?fieldManager=kn', {
        spec: { traffic: [{ latestRevision: false, revisionName, percent: 100 }] },
      });
    await startWith();
    expect(notesOf(bed, 'DriftCorrected')).toEqual([]);
    await bed.commit('v2', { 'web.json': service('shop/web:2') });
    await eventually('40 % on v2', async () => statusOf(await bed.canary()).canaryWeight === 40);
    await give('web-00002');
    await waitForPhase(bed, 'Succeeded');
    expect(await traffic()).toEqual({ latest: 0, 'web-00002': 100 });
    const told = () => notesOf(bed, 'DriftCorrected');
    const ofKn = /^put back what others had changed: Service shop\/web: kn changed spec\.traffic/;
    expect(told()).toEqual([expect.stringMatching(ofKn)]);

    await give('web-00001');
    await eventually('it is put back', async () => (await traffic())['web-00002'] === 100);
    await eventually('it is told', async () => told().length === 2, { seen: async () => told() });
    expect(told()[1]).toMatch(ofKn);
  });

  test.each([
    {
      what: 'traffic',
      as: ({ spec }: KubernetesObject, stored: KubernetesObject) => {
        (spec as { traffic: unknown }).traffic = (stored.spec as { traffic: unknown }).traffic;
      },
      told: /web: spec\.traffic\S* is .*, not .*, right after it was written: an admission webhook or policy changes it/,
    },
    {
      what: 'primary revision',
      as: ({ metadata }: KubernetesObject, stored: KubernetesObject) => {
        const marks = ['flagger.app/primary-revision', 'holdfast.dev/primary-digest'];
        const before = stored.metadata.annotations ?? {};
        for (const mark of marks)
          metadata.annotations = { ...metadata.annotations, [mark]: before[mark] ?? '' };
      },
      told: /web: metadata\.annotations\S*primary-revision\S* is web-00001, not web-00002, right after it was written/,
    },
  ])(
    'whose $what a policy keeps as it was: it is told, and not written without end',
    async ({ as, told }) => {
      await startWith();
      const end = policy(as);
      await bed.commit('v2', { 'web.json': service('shop/web:2') });
      const ready = await eventually(
        'it is told',
        async () => {
          const found = condition(await bed.canary(), 'Ready');
          return found?.reason === 'ForeignChange' && found;
        },
        { seen: async () => ({ status: statusOf(await bed.canary()), live: await live() }) },
      );
      expect(ready.message).toMatch(told);
      // Once for each look of the analysis, every second here.
      expect(await writesIn(20_000)).toBeLessThan(30);
      end();
      await waitForPhase(bed, 'Succeeded');
      expect(await primaryRevision()).toBe('web-00002');
    },
  );

  test('gets no request on a revision that is never ready', async () => {
    await startWith({ progressDeadlineSeconds: 20 });
    const weights = follow(bed, (store) => storedStatus(store).canaryWeight);
    await bed.commit('v2', { 'web.json': service('shop/broken:2') });
    await waitForPhase(bed, 'Failed');
    expect([...weights]).toEqual([0]);
    expect(await traffic()).toEqual({ latest: 0, 'web-00001': 100 });
    expect(JSON.stringify(statusOf(await bed.canary()).incidents)).toContain('exited with code 1');
  });

  test('goes back to the revision of its last-known-good when checks fail after promotion', async () => {
    await startWith({ postPromotion: { interval: '1s', successThreshold: 20, metrics } });
    await bed.commit('v2', { 'web.json': service('shop/web:2') });
    await eventually('v2 is verified', async () => {
      const { postPromotion } = statusOf(await bed.canary()) as { postPromotion?: { state?: string } };
      return postPromotion?.state === 'Verifying';
    });
    expect(await traffic()).toEqual({ latest: 0, 'web-00002': 100 });
    failing.add('web-00002');
    await waitForPhase(bed, 'Failed');

    expect(await primaryRevision()).toBe('web-00001');
    expect(await traffic()).toEqual({ latest: 0, 'web-00001': 100 });
    expect(condition(await bed.canary(), 'Reverted')?.status).toBe('True');
  });

  test('gets the revision that serves again when somebody deletes it, though Git has a rejected release', async () => {
    await startWith();
    failing.add('web-00002');
    await bed.commit('v2', { 'web.json': service('shop/web:2') });
    await waitForPhase(bed, 'Failed');
    await eventually('all requests are back', async () => (await traffic())['web-00001'] === 100);

    await bed.send('DELETE', '/apis/serving.knative.dev/v1/namespaces/shop/revisions/web-00001');

    await eventually(
      'another revision is the primary',
      async () => (await primaryRevision()) === 'web-00003',
    );
    await eventually('it serves', async () => (await traffic())['web-00003'] === 100);
    expect(await bed.get('serving.knative.dev/v1', 'Revision', 'web-00003')).toMatchObject({
      spec: { containers: [{ image: 'shop/web:1' }] },
    });
    expect(notesOf(bed, 'PrimaryMissing')).toHaveLength(1);
    expect(statusOf(await bed.canary()).phase).toBe('Failed');
  });

  test('makes the revision of its last-known-good anew from the record where Knative has collected it', async () => {
    await startWith({ postPromotion: { interval: '1s', successThreshold: 60, metrics } });
    await bed.commit('v2', { 'web.json': service('shop/web:2') });
    await eventually('v2 is verified', async () => (await primaryRevision()) === 'web-00002');
    await bed.send('DELETE', '/apis/serving.knative.dev/v1/namespaces/shop/revisions/web-00001');
    failing.add('web-00002');
    await waitForPhase(bed, 'Failed');

    expect(await primaryRevision()).toBe('web-00003');
    expect(await traffic()).toEqual({ latest: 0, 'web-00003': 100 });
    expect(JSON.stringify((await live())?.spec)).toContain('shop/web:1');
  });

  test('that another tool applies has its traffic and marks written, and nothing else', async () => {
    const flux = otherTool(bed);
    await flux.apply(service('shop/web:1'), ofKnative());
    await bed.start({ metricsServer: prometheus.url });
    await waitForPhase(bed, 'Initialized');
    await flux.apply(service('shop/web:2'));
    await waitForPhase(bed, 'Succeeded');

    expect(await primaryRevision()).toBe('web-00002');
    const fields = fieldsOfHoldfast(await live());
    expect(fields.filter((path) => !/^(spec\.traffic|metadata\.annotations\.)/.test(path))).toEqual([]);
  });

  test('serves its newest revision by itself when the Canary is deleted', async () => {
    await startWith({ revertOnDeletion: true, progressDeadlineSeconds: 20 });
    await bed.commit('v2', { 'web.json': service('shop/broken:2') });
    await waitForPhase(bed, 'Failed');
    await bed.commit('v1 again, without the Canary', {
      'web.json': service('shop/web:1'),
      'canary.json': null,
    });
    await bed.send('DELETE', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web');
    await eventually('the Canary is gone', async () => (await bed.canary()) === undefined, {
      seen: async () => ({ status: statusOf(await bed.canary()), live: await live() }),
    });

    expect(await primaryRevision()).toBeUndefined();
    expect((await traffic()).latest).toBe(100);
  });

  test('goes back to the release before when the Canary is deleted at a step, though each write of it is refused at first', async () => {
    await bed.send(
      'POST',
      '/apis/flagger.app/v1beta1/namespaces/shop/canaries',
      JSON.parse(ofKnative({ revertOnDeletion: true })),
    );
    await bed.commit('v1', { 'web.json': service('shop/web:1') });
    await runUntilInitialized(bed, {}, { metricsServer: prometheus.url });
    await bed.commit('v2', { 'web.json': service('shop/web:2') });
    await eventually('40 % on v2', async () => statusOf(await bed.canary()).canaryWeight === 40);
    // The next look at Git would bring v2 back at once: nothing holds it any more.
    const source = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop';
    await bed.send('PATCH', source, { spec: { suspend: true } });
    const isSuspended = async () => condition(await bed.source(), 'Ready')?.reason === 'Suspended';
    await eventually('Git is left alone', isSuspended);
    let isRefused = false;
    bed.sandbox.fault(({ method, path, userAgent }) => {
      if (method !== 'PATCH' || !path.endsWith('/services/web') || !userAgent.startsWith('holdfast/'))
        return undefined;
      isRefused = !isRefused;
      return isRefused ? { code: 403, reason: 'Forbidden', message: 'denied by a webhook' } : undefined;
    });
    await bed.send('DELETE', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web');
    await eventually('the Canary is gone', async () => (await bed.canary()) === undefined, {
      seen: async () => ({ status: statusOf(await bed.canary()), live: await live() }),
    });

    expect(await primaryRevision()).toBeUndefined();
    expect((await traffic()).latest).toBe(100);
    expect(JSON.stringify((await live())?.spec)).toContain('shop/web:1');
  });

  test('is taken over as Flagger left it', async () => {
    const flux = otherTool(bed);
    await flux.apply(service('shop/web:1'), ofKnative());
    await eventually('its revision', async () => statusOf(await live()).latestCreatedRevisionName);
    const base = '/apis/serving.knative.dev/v1/namespaces/shop/services/web';
    const left = {
      metadata: { annotations: { 'flagger.app/primary-revision': 'web-00001' } },
      spec: {
        traffic: [
          { latestRevision: true, percent: 0 },
          { revisionName: 'web-00001', percent: 100 },
        ],
      },
    };
    await bed.send('PATCH', `${base}?fieldManager=flagger`, left);
    const status = { phase: 'Succeeded', lastAppliedSpec: '58b6d4', lastPromotedSpec: '58b6d4' };
    await bed.send('PATCH', '/apis/flagger.app/v1beta1/namespaces/shop/canaries/web/status', {
      status: { ...status, lastTransitionTime: '2026-01-01T00:00:00Z' },
    });
    await bed.start({ metricsServer: prometheus.url });
    await eventually(
      'it is taken over',
      async () => {
        const now = statusOf(await bed.canary());
        return now.phase === 'Succeeded' && now.lastKnownGood !== undefined;
      },
      { seen: async () => statusOf(await bed.canary()) },
    );

    expect(await traffic()).toEqual({ latest: 0, 'web-00001': 100 });
    expect((await live())?.metadata.annotations?.['holdfast.dev/primary-digest']).toMatch(/^v1:/);
    expect(notesOf(bed, 'DriftCorrected')).toEqual([]);
    expect(statusOf(await bed.canary()).history ?? []).toEqual([]);
  });
});
