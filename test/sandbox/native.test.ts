import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { App } from '../../src/server/app.ts';
import { imageOf } from '../objects.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  failPods,
  notesOf,
  runUntilInitialized,
  statusOf,
  untilAtRest,
  untilIdle,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';
import { configWith, deploymentWithConfig } from './with-config.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
});
afterEach(() => bed.close());

const spec = { provider: 'native', service: undefined };
const analysis = { iterations: undefined, stepWeight: 20, maxWeight: 60 };

/** Settings of the user's own, which must all come back. */
function web(image: string, more: Record<string, unknown> = {}): string {
  const object = JSON.parse(deployment(image, { replicas: 5 }));
  Object.assign(object.spec, {
    minReadySeconds: 1,
    progressDeadlineSeconds: 77,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    ...more,
  });
  return JSON.stringify(object);
}

const service = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
});

function live(): Promise<KubernetesObject | undefined> {
  return bed.get('apps/v1', 'Deployment', 'web');
}

/** As somebody with kubectl. */
function patch(change: Record<string, unknown>): Promise<unknown> {
  const path = '/apis/apps/v1/namespaces/shop/deployments/web';
  return bed.send('PATCH', path, { spec: change });
}

async function suspendSource(): Promise<void> {
  const path = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop';
  await bed.send('PATCH', path, { spec: { suspend: true } });
  const ready = async () => {
    const source = await bed.get('holdfast.dev/v1alpha1', 'Source', 'shop');
    const { conditions = [] } = (source?.status ?? {}) as { conditions?: Array<{ reason?: string }> };
    return conditions.some(({ reason }) => reason === 'Suspended');
  };
  await eventually('the Source is suspended', ready);
}

function settingsOf(object: KubernetesObject | undefined): Record<string, unknown> {
  const { template: _, ...settings } = (object?.spec ?? {}) as Record<string, unknown>;
  return settings;
}

/** Moments at which more pods of the new template were asked for than the step lets, at any event of the store. */
function watchSteps(image: string): { readonly beyond: string[]; most(): number } {
  const beyond: string[] = [];
  let most = 0;
  const { store } = bed.sandbox;
  store.subscribe(() => {
    const annotations = store.get('apps/deployments', 'shop', 'web')?.metadata.annotations ?? {};
    if (annotations['holdfast.dev/promoted'] === undefined) return;
    const sets = store.list('apps/replicasets').filter((set) => imageOf(set) === image);
    const pods = sets.reduce((sum, { spec }) => sum + Number((spec as { replicas?: number }).replicas), 0);
    most = Math.max(most, pods);
    const share = Number(annotations['holdfast.dev/share']);
    if (pods > Math.ceil((share * 5) / 100)) beyond.push(`${pods} pods at ${share} %`);
  });
  return { beyond, most: () => most };
}

async function runFirst(): Promise<void> {
  await bed.commit('v1', {
    'web.json': web('shop/web:1'),
    'service.json': service,
    'canary.json': canary({ spec, analysis }),
  });
  await runUntilInitialized(bed);
}

test('a Deployment is promoted by steps in place, and has its own settings back', async () => {
  await runFirst();
  const before = await live();
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  const seen = watchSteps('shop/web:2');
  const steps: unknown[] = [];
  const v2 = await bed.commit('v2', { 'web.json': web('shop/web:2') });
  await eventually('the promotion', async () => {
    const { canaryWeight, phase, lastPromotedCommit } = statusOf(await bed.canary());
    if (phase === 'Progressing' && steps.at(-1) !== canaryWeight) steps.push(canaryWeight);
    return phase === 'Succeeded' && lastPromotedCommit === v2;
  });
  sampler.stop();
  expect(sampler.totals()).toMatchObject({ failed: 0 });
  expect([seen.beyond, seen.most()]).toEqual([[], 3]);
  expect(steps.filter((weight) => Number(weight) > 0)).toEqual([20, 40, 60]);
  const after = await live();
  expect(imageOf(after)).toBe('shop/web:2');
  expect(statusOf(after)).toMatchObject({ replicas: 5, updatedReplicas: 5, availableReplicas: 5 });
  expect(settingsOf(after)).toEqual(settingsOf(before));
  expect(condition(await bed.canary(), 'Ready')?.status).toBe('True');
});

test('a release whose pods never become ready goes back at its first step, and nothing fails', async () => {
  await runFirst();
  const seen = watchSteps('missing/web:2');
  const sampler = bed.sandbox.sampleTraffic({ namespace: 'shop', service: 'web' });
  await bed.commit('v2', { 'web.json': web('missing/web:2') });
  await waitForPhase(bed, 'Failed');
  await eventually('all pods of v1 are back', async () => statusOf(await live()).updatedReplicas === 5);
  sampler.stop();
  expect(sampler.totals()).toMatchObject({ failed: 0 });
  expect([seen.beyond, seen.most()]).toEqual([[], 1]);
  expect(imageOf(await live())).toBe('shop/web:1');
  expect((await live())?.spec).toMatchObject({ minReadySeconds: 1, progressDeadlineSeconds: 77 });
});

test('what cannot be held at a step is refused before anything is written, and says what to change', async () => {
  await runFirst();
  await bed.commit('Recreate', {
    'web.json': web('shop/web:2', { strategy: { type: 'Recreate' } }),
  });
  await eventually('the refusal', async () =>
    condition(await bed.canary(), 'Ready')?.message?.includes('must be RollingUpdate for provider native'),
  );
  expect(imageOf(await live())).toBe('shop/web:1');
  await bed.commit('one pod', { 'web.json': web('shop/web:2', { replicas: 1 }) });
  await eventually('the refusal', async () =>
    condition(await bed.canary(), 'Ready')?.message?.includes('must be at least 2 for provider native'),
  );
  expect(imageOf(await live())).toBe('shop/web:1');
  const pause = (paused: boolean) => patch({ paused });
  await pause(true);
  await bed.commit('paused by hand', { 'web.json': web('shop/web:2') });
  await eventually('the refusal', async () =>
    condition(await bed.canary(), 'Ready')?.message?.includes('was paused by someone else'),
  );
  expect(imageOf(await live())).toBe('shop/web:1');
  await pause(false);
  await waitForPhase(bed, 'Succeeded');
  expect(imageOf(await live())).toBe('shop/web:2');
});

test.each([
  ['at rest', { threshold: 2 }, 'Initialized'],
  ['while a release is verified', { threshold: 2, interval: '1s', successThreshold: 10 }, 'Finalising'],
])(
  'a strategy that cannot be held at a step is refused alone, too, and keeps no release from going back: %s',
  async (_, postPromotion, moment) => {
    await bed.commit('v1', {
      'web.json': web('shop/web:1'),
      'canary.json': canary({ spec: { ...spec, postPromotion }, analysis }),
    });
    await runUntilInitialized(bed);
    const isVerified = moment === 'Finalising';
    const image = isVerified ? 'shop/web:2' : 'shop/web:1';
    if (isVerified) await bed.commit('v2', { 'web.json': web(image) });
    await waitForPhase(bed, moment);

    await bed.commit('Recreate', { 'web.json': web(image, { strategy: { type: 'Recreate' } }) });

    await eventually('the refusal', async () =>
      condition(await bed.canary(), 'Ready')?.message?.includes('must be RollingUpdate for provider native'),
    );
    await waitForPhase(bed, isVerified ? 'Succeeded' : 'Initialized');
    expect((await live())?.spec).toMatchObject({ strategy: { type: 'RollingUpdate' } });
    failPods(bed, 'shop/web:3');
    await bed.commit('v3', { 'web.json': web('shop/web:3') });
    await untilAtRest(bed, 'Failed');
    await eventually('the workload is as it was', async () => {
      const { metadata } = (await live()) ?? {};
      return metadata?.annotations?.['holdfast.dev/share'] === undefined;
    });
    expect(imageOf(await live())).toBe(image);
    expect((await live())?.spec).toMatchObject({ strategy: { type: 'RollingUpdate' } });
  },
);

test('a Deployment that runs already is taken over without a restart, and nothing is made beside it', async () => {
  await bed.commit('v1', { 'web.json': web('shop/web:1'), 'service.json': service });
  await createSource(bed);
  await bed.start();
  await eventually('v1 runs', async () => statusOf(await live()).availableReplicas === 5);
  const names = (key: string) => bed.sandbox.store.list(key, 'shop').map(({ metadata }) => metadata.name);
  const before = [names('/pods'), names('/services'), names('apps/deployments')];
  await bed.commit('Canary', { 'canary.json': canary({ spec, analysis }) });
  await waitForPhase(bed, 'Initialized');
  expect([names('/pods'), names('/services'), names('apps/deployments')]).toEqual(before);
});

test('the share stays when the number of pods changes at a step, and a Canary that is deleted there goes back first', async () => {
  // In Git it would be there again before anybody saw that it was gone.
  const steps = { ...analysis, stepWeight: 50, maxWeight: 100, interval: '10m' };
  const canaries = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';
  await bed.send('POST', canaries, JSON.parse(canary({ spec, analysis: steps })));
  await bed.commit('v1', { 'web.json': web('shop/web:1', { replicas: undefined }) });
  await runUntilInitialized(bed);
  const scale = (replicas: number) => patch({ replicas });
  const counts = async () => {
    const { replicas, updatedReplicas, readyReplicas } = statusOf(await live());
    return `${updatedReplicas} of ${replicas}, ${readyReplicas} ready`;
  };
  await scale(4);
  await eventually('4 pods', async () => (await counts()) === '4 of 4, 4 ready', { seen: counts });
  await bed.commit('v2', { 'web.json': web('shop/web:2', { replicas: undefined }) });
  await eventually('the step', async () => (await counts()) === '2 of 4, 4 ready', { seen: counts });
  await scale(8);
  await eventually('the share of 8', async () => (await counts()) === '4 of 8, 8 ready', { seen: counts });
  await scale(2);
  await eventually('the share of 2', async () => (await counts()) === '1 of 2, 2 ready', { seen: counts });
  // The next look at Git would bring v2 back at once: nothing holds it any more.
  await suspendSource();
  await bed.send('DELETE', `${canaries}/web`);
  await eventually('the Canary is gone', async () => (await bed.canary()) === undefined);
  expect(imageOf(await live())).toBe('shop/web:1');
  expect((await live())?.spec).toMatchObject({ minReadySeconds: 1, progressDeadlineSeconds: 77 });
  expect(await counts()).toBe('2 of 2, 2 ready');
});

const canaries = '/apis/flagger.app/v1beta1/namespaces/shop/canaries';

/** Version 2 has half of the pods, and nothing that comes from Git changes that. */
async function stopAtHalf(): Promise<void> {
  const steps = { ...analysis, stepWeight: 50, maxWeight: 100, interval: '10m' };
  await bed.send('POST', canaries, JSON.parse(canary({ spec, analysis: steps })));
  await bed.commit('v1', { 'web.json': web('shop/web:1') });
  await runUntilInitialized(bed);
  await bed.commit('v2', { 'web.json': web('shop/web:2') });
  await eventually('the step', async () => statusOf(await bed.canary()).canaryWeight === 50);
  await suspendSource();
}

test('a Canary that is deleted at a step while its workload cannot be written waits, and goes back when it can', async () => {
  await stopAtHalf();
  let refused = 0;
  const allow = bed.sandbox.fault(({ method, path }) => {
    if (method !== 'PATCH' || !path.includes('/deployments')) return undefined;
    refused += 1;
    return { code: 403, reason: 'Forbidden', message: 'deployments is forbidden' };
  });
  await bed.send('DELETE', `${canaries}/web`);
  await eventually('writes were refused', async () => refused >= 2);
  expect((await bed.canary())?.metadata.deletionTimestamp).toBeDefined();
  allow();
  await eventually('the Canary is gone', async () => (await bed.canary()) === undefined);
  expect(imageOf(await live())).toBe('shop/web:1');
});

test('a Canary whose workload cannot be written until the deadline of its deletion goes, and a person is told of the step', async () => {
  await stopAtHalf();
  bed.sandbox.fault(({ method, path }) =>
    method === 'PATCH' && path.includes('/deployments')
      ? { code: 403, reason: 'Forbidden', message: 'deployments is forbidden' }
      : undefined,
  );
  await bed.send('DELETE', `${canaries}/web`);
  await eventually('the Canary is gone', async () => (await bed.canary()) === undefined);
  await eventually('it is told', async () => {
    const { body } = await bed.send('GET', '/apis/events.k8s.io/v1/namespaces/shop/events');
    const { items } = body as { items: Array<{ reason: string; note: string }> };
    return items.some(
      ({ reason, note }) => reason === 'HandBackGivenUp' && note.includes('stays at its step'),
    );
  });
});

test('a Canary that is deleted at a step while its status cannot be written goes back, and goes', async () => {
  await stopAtHalf();
  bed.sandbox.fault(({ method, path, userAgent }) =>
    method === 'PATCH' && path === `${canaries}/web/status` && userAgent.startsWith('holdfast/')
      ? { code: 403, reason: 'Forbidden', message: 'denied by a webhook' }
      : undefined,
  );
  const beganMs = bed.clock.nowMs();
  await bed.send('DELETE', `${canaries}/web`);
  await eventually('the Canary is gone', async () => (await bed.canary()) === undefined);
  expect(bed.clock.nowMs() - beganMs).toBeLessThan(60_000);
  expect(imageOf(await live())).toBe('shop/web:1');
});

test('config is tried and comes back with its release, to the very ReplicaSet that was there', async () => {
  const steps = { ...analysis, stepWeight: 50, maxWeight: 50 };
  const level = async () => {
    const config = await bed.get('v1', 'ConfigMap', 'settings');
    return (config as { data?: Record<string, string> } | undefined)?.data?.level;
  };
  const sets = () => bed.sandbox.store.list('apps/replicasets', 'shop').length;
  await bed.commit('v1', {
    'web.json': deploymentWithConfig('shop/web:1'),
    'config.json': configWith('info'),
  });
  await createSource(bed);
  await bed.start();
  await eventually('v1 runs', async () => statusOf(await live()).availableReplicas === 2);
  await bed.commit('Canary', { 'canary.json': canary({ spec, analysis: steps }) });
  await waitForPhase(bed, 'Initialized');
  await bed.commit('bad', {
    'web.json': deploymentWithConfig('missing/web:2'),
    'config.json': configWith('debug'),
  });
  await eventually('the step', async () => (await level()) === 'debug' && sets() === 2);
  await waitForPhase(bed, 'Failed');
  expect([await level(), sets(), statusOf(await live()).updatedReplicas]).toEqual(['info', 2, 2]);
  const changed = await bed.commit('config alone', {
    'web.json': deploymentWithConfig('shop/web:1'),
    'config.json': configWith('trace'),
  });
  await eventually(
    'the promotion of config alone',
    async () => statusOf(await bed.canary()).lastPromotedCommit === changed,
  );
  expect([await level(), sets(), statusOf(await live()).updatedReplicas]).toEqual(['trace', 3, 2]);
});

/** Whom the Service of the new pods selects. */
function selected(): Record<string, string> {
  const found = bed.sandbox.store.get('/services', 'shop', 'web-canary');
  return (found?.spec as { selector?: Record<string, string> } | undefined)?.selector ?? {};
}

async function startWithService(): Promise<App> {
  const withService = { ...spec, service: { port: 80, targetPort: 8080 } };
  await bed.commit('v1', {
    'web.json': web('shop/web:1'),
    'service.json': service,
    'canary.json': canary({ spec: withService, analysis }),
  });
  return runUntilInitialized(bed);
}

test('config that somebody edits is told, and config that somebody deletes is there again', async () => {
  await bed.commit('v1', {
    'web.json': deploymentWithConfig('shop/web:1'),
    'config.json': configWith('info'),
    'canary.json': canary({ spec, analysis }),
  });
  await runUntilInitialized(bed);
  const settings = '/api/v1/namespaces/shop/configmaps/settings';

  await bed.send('PATCH', `${settings}?fieldManager=kubectl-edit`, { data: { level: 'debug' } });

  await eventually('Drifted', async () => {
    const { status, message = '' } = condition(await bed.canary(), 'Drifted') ?? {};
    return status === 'True' && message.includes('kubectl-edit changed data.level');
  });
  for (const path of [settings, '/api/v1/namespaces/shop/secrets/database']) await bed.send('DELETE', path);
  await eventually('both are back', async () => {
    const found = [await bed.get('v1', 'ConfigMap', 'settings'), await bed.get('v1', 'Secret', 'database')];
    return found.every((one) => one !== undefined);
  });
  expect(await bed.get('v1', 'ConfigMap', 'settings')).toMatchObject({ data: { level: 'info' } });
  await untilIdle(bed, 5_000);
  expect(condition(await bed.canary(), 'Drifted')?.status).toBe('False');
});

test('a Service of its own that others change or delete is put back, and that is told', async () => {
  await startWithService();
  const path = '/api/v1/namespaces/shop/services/web-canary';
  const untilTold = (what: string) =>
    eventually(what, async () =>
      notesOf(bed, 'DriftCorrected').some((note) => `${note}`.includes(`Service shop/web-canary: ${what}`)),
    );
  await bed.send('PATCH', `${path}?fieldManager=argocd`, { spec: { selector: { app: 'theirs' } } });
  await untilTold('argocd changed spec.selector.app (theirs, not web)');
  await bed.send('DELETE', path);
  await untilTold('was deleted by another client, and is created again');

  expect(selected()).toEqual({ app: 'web', 'pod-template-hash': 'none' });
});

test('a Service of its own selects the pods of the release that is tried, and nobody without one', async () => {
  const app = await startWithService();
  const { store } = bed.sandbox;
  expect(selected()).toEqual({ app: 'web', 'pod-template-hash': 'none' });
  const own = await bed.get('v1', 'Service', 'web');
  const images = new Set<string>();
  let checkedWithout = false;
  store.subscribe(() => {
    const hash = selected()['pod-template-hash'];
    const set = store
      .list('apps/replicasets')
      .find(({ metadata }) => metadata.labels?.['pod-template-hash'] === hash);
    if (set) images.add(imageOf(set) ?? '');
    const status = statusOf(store.get('flagger.app/canaries', 'shop', 'web'));
    const isChecked = status.phase === 'Progressing' && (status.run as { weight?: number })?.weight;
    if (isChecked && !set) checkedWithout = true;
  });
  const v2 = await bed.commit('v2', { 'web.json': web('shop/web:2') });
  await eventually('a step', async () => selected()['pod-template-hash'] !== 'none');
  await app.drain();
  await bed.start();
  await eventually(
    'the promotion',
    async () => statusOf(await bed.canary()).lastPromotedCommit === v2 && phaseIsDone(),
  );
  expect([[...images], checkedWithout]).toEqual([['shop/web:2'], false]);
  await eventually('nobody', async () => selected()['pod-template-hash'] === 'none');
  expect((await bed.get('v1', 'Service', 'web'))?.spec).toEqual(own?.spec);
  await bed.commit('no Service', { 'canary.json': canary({ spec, analysis }) });
  await eventually('it is gone', async () => store.get('/services', 'shop', 'web-canary') === undefined);

  function phaseIsDone(): boolean {
    return statusOf(store.get('flagger.app/canaries', 'shop', 'web')).phase === 'Succeeded';
  }
});

/** Somebody sets another image, as kubectl does. */
function setImage(image: string): Promise<unknown> {
  return patch({ template: { spec: { containers: [{ name: 'app', image }] } } });
}

test('what somebody changes of the template at a step is put back at once, and beyond the step there is no pod of it', async () => {
  await runFirst();
  const foreign = watchSteps('shop/web:foreign');
  const v2 = await bed.commit('v2', { 'web.json': web('shop/web:2') });
  await eventually('a step', async () => statusOf(await bed.canary()).canaryWeight === 40);
  await setImage('shop/web:foreign');
  await eventually('it is put back', async () => imageOf(await live()) === 'shop/web:2');
  await eventually('the promotion', async () => statusOf(await bed.canary()).lastPromotedCommit === v2);
  expect(foreign.beyond).toEqual([]);
  expect(imageOf(await live())).toBe('shop/web:2');
});

test('what somebody changes without a release is told, and the next release takes it out', async () => {
  await runFirst();
  await setImage('shop/web:foreign');
  const drifted = async () => condition(await bed.canary(), 'Drifted');
  await eventually('it is told', async () => (await drifted())?.status === 'True', { seen: drifted });
  expect((await drifted())?.message).toContain('image');
  const v2 = await bed.commit('v2', { 'web.json': web('shop/web:2') });
  await eventually('the promotion', async () => statusOf(await bed.canary()).lastPromotedCommit === v2);
  expect(imageOf(await live())).toBe('shop/web:2');
  await eventually('nothing differs', async () => (await drifted())?.status === 'False', { seen: drifted });
});

test('somebody who pauses it at a step is told of, and it goes on when it is resumed', async () => {
  await runFirst();
  const v2 = await bed.commit('v2', { 'web.json': web('shop/web:2') });
  await eventually('a step', async () => statusOf(await bed.canary()).canaryWeight === 40);
  await patch({ paused: true });
  const ready = async () => condition(await bed.canary(), 'Ready');
  await eventually(
    'the refusal',
    async () => (await ready())?.message?.includes('was paused by someone else'),
    {
      seen: ready,
    },
  );
  expect(statusOf(await bed.canary()).phase).toBe('Progressing');
  await patch({ paused: false });
  await eventually('the promotion', async () => statusOf(await bed.canary()).lastPromotedCommit === v2);
  expect(imageOf(await live())).toBe('shop/web:2');
});
