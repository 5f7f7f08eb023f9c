/** An admission webhook or another controller changes what Holdfast writes: it is told, and not fought. */
import { describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary/status.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { eventually } from './holdfast-bed.ts';
import { type Shop, useShops } from './scenarios/shop.ts';

const shops = useShops();

/** From now on the API server stores the primary of this shop as the webhook makes it; the returned function ends that. */
function webhook(shop: Shop, change: (primary: KubernetesObject) => void): () => void {
  const { store } = shops.bed().sandbox;
  const { put } = store;
  let isOver = false;
  Object.assign(store, {
    put(key: string, sent: KubernetesObject): KubernetesObject {
      const { namespace, name } = sent.metadata;
      const live = store.get(key, namespace, name);
      const isOfPrimary =
        namespace === shop.namespace && key === 'apps/deployments' && name === 'podinfo-primary';
      const isSpec = JSON.stringify(live?.status) === JSON.stringify(sent.status);
      if (isOver || !isOfPrimary || !isSpec) return put(key, sent);
      const changed = structuredClone(sent);
      change(changed);
      return live && contentOf(live) === contentOf(changed) ? live : put(key, changed);
    },
  });
  return () => {
    isOver = true;
  };
}

const readyOf = ({ conditions }: CanaryStatus) => conditions?.find(({ type }) => type === 'Ready');
const isTold = (status: CanaryStatus) => readyOf(status)?.reason === 'ForeignChange';

/** Without what each write changes. */
function contentOf({ metadata, ...object }: KubernetesObject): string {
  const { resourceVersion: _, managedFields: __, generation: ___, ...rest } = metadata;
  return JSON.stringify([object, rest]);
}

const capped = (primary: KubernetesObject) => {
  (primary.spec as { replicas: number }).replicas = 1;
};
const stripped = ({ metadata }: KubernetesObject) => {
  delete metadata.annotations?.['holdfast.dev/digest'];
};
const withoutSettings = ({ metadata }: KubernetesObject) => {
  delete metadata.annotations?.['holdfast.dev/settings'];
};

/** What another controller has the primary's Service select. */
const theirs = { app: 'theirs' };

const checks = {
  analysis: { interval: '2s', threshold: 2, stepWeights: [50], metrics: [] },
  postPromotion: { interval: '1s', metrics: [] },
};

/** Holdfast's writes of this object in so much of the shop's time. */
async function writesIn(path: string, durationMs: number): Promise<number> {
  const { requests } = shops.bed().sandbox;
  requests.clear();
  await shops.pass(durationMs);
  return requests.writes().filter((one) => one.path.startsWith(path) && one.userAgent.startsWith('holdfast'))
    .length;
}

function primaryPath({ namespace }: Shop): string {
  return `/apis/apps/v1/namespaces/${namespace}/deployments/podinfo-primary`;
}

function servicePath({ namespace }: Shop, name = 'podinfo-primary'): string {
  return `/api/v1/namespaces/${namespace}/services/${name}`;
}

describe('an admission webhook that changes the primary', () => {
  test('caps its pods: it is told who must act, and tried again ever more rarely', async () => {
    const shop = await shops.openRunning('capped', checks);
    const remove = webhook(shop, capped);
    await shops.bed().send('PATCH', primaryPath(shop), { spec: { replicas: 1 } });
    await shop.until('it is told', isTold);
    expect(readyOf(shop.status())?.message).toMatch(
      /podinfo-primary: spec.replicas is 1, not 2, right after it was written: an admission webhook or policy changes it/,
    );
    expect(await writesIn(primaryPath(shop), 60_000)).toBeLessThan(12);
    remove();
    await shop.until('it is as in Git', (status) => readyOf(status)?.status === 'True');
    expect((await shop.workload('podinfo-primary'))?.spec).toMatchObject({ replicas: 2 });
  });

  test('takes the digest from it: a promotion waits for a person, and goes on without the webhook', async () => {
    const shop = await shops.openRunning('stripped', checks);
    const remove = webhook(shop, stripped);
    const commit = await shop.release('v2');
    await shop.until('it is told', isTold);
    expect(readyOf(shop.status())?.message).toMatch(
      /podinfo-primary: metadata.annotations.*holdfast.dev\/digest.* is gone, not v1:/,
    );
    expect(await writesIn(primaryPath(shop), 60_000)).toBeLessThan(12);
    remove();
    await shop.until(
      'v2 is live',
      ({ phase, lastPromotedCommit }) => phase === 'Succeeded' && lastPromotedCommit === commit,
    );
  });

  test('takes from it which settings it has: it is told, and they are not written without end', async () => {
    const shop = await shops.openRunning('unsettled', checks);
    const remove = webhook(shop, withoutSettings);
    await shop.release('v1', {}, { replicas: 3 });
    await shop.until('it is told', isTold);
    expect(readyOf(shop.status())?.message).toMatch(
      /podinfo-primary: metadata.annotations.*holdfast.dev\/settings.* is gone, not /,
    );
    expect(await writesIn(primaryPath(shop), 60_000)).toBeLessThan(12);
    remove();
    await shop.until('it is as in Git', (status) => readyOf(status)?.status === 'True');
    expect((await shop.workload('podinfo-primary'))?.spec).toMatchObject({ replicas: 3 });
  });
});

/** From now on a Service selects other pods as soon as Holdfast has written it; the returned function ends that. */
function contend(shop: Shop, name = 'podinfo-primary'): () => void {
  const { namespace } = shop;
  const { store } = shops.bed().sandbox;
  const { put } = store;
  let isOver = false;
  Object.assign(store, {
    put(key: string, sent: KubernetesObject): KubernetesObject {
      const stored = put(key, sent);
      const { selector } = (stored.spec ?? {}) as { selector?: object };
      const isIts =
        /(^|\/)services$/.test(key) &&
        stored.metadata.namespace === namespace &&
        stored.metadata.name === name;
      if (!isOver && isIts && JSON.stringify(selector) !== JSON.stringify(theirs))
        void shops.pass(50).then(() => !isOver && change(shop, name));
      return stored;
    },
  });
  return () => {
    isOver = true;
  };
}

/** Somebody lets a Service select other pods. */
function change(shop: Shop, name = 'podinfo-primary'): Promise<unknown> {
  const path = `/api/v1/namespaces/${shop.namespace}/services/${name}?fieldManager=mesh-operator`;
  return shops.bed().send('PATCH', path, { spec: { selector: theirs } });
}

test('another controller that undoes each write is told, answered less often, and what it changed is put right once it has stopped', async () => {
  const shop = await shops.openRunning('contested');
  const stop = contend(shop);
  await change(shop);
  await shop.until('it is told', isTold);
  expect(readyOf(shop.status())?.message).toMatch(
    /undoes what Holdfast writes to Service contested\/podinfo-primary \(the Services are written\).*Stop the other writer/,
  );
  await shop.until('it is told who it is', (status) =>
    /the last other writer of that is mesh-operator;/.test(readyOf(status)?.message ?? ''),
  );
  // Without a limit it is 300 a minute here.
  expect(await writesIn(servicePath(shop), 60_000)).toBeLessThan(75);
  // A minute later a person is called.
  await shop.until('it is stalled', ({ conditions, incidents }) =>
    Boolean(
      conditions?.some(({ type, status }) => type === 'Stalled' && status === 'True') &&
        incidents?.some(({ outcome, message }) => outcome === 'Stopped' && /mesh-operator/.test(message)),
    ),
  );
  stop();
  await shop.until('it is at rest', (status) => readyOf(status)?.status === 'True');
  expect(await writesIn(servicePath(shop), 60_000)).toBe(0);
});

describe('while another controller undoes each write of the apex Service', () => {
  const serving = (shop: Shop) =>
    shop.status().serving?.map(({ workload, weight }) => `${workload} ${weight}`);

  test('a primary that fails is reverted, a spec that cannot be acted on is told beside it, and a deletion hands the traffic back', async () => {
    const shop = await shops.openRunning('besieged', {
      ...checks,
      spec: { revertOnDeletion: true },
      postPromotion: { interval: '1s', successThreshold: 600, metrics: [] },
    });
    const stop = contend(shop, 'podinfo');
    await change(shop, 'podinfo');
    await shop.until('it is told', isTold);
    await shop.release('v2');
    await shop.until('v2 is verified', ({ postPromotion }) => postPromotion?.state === 'Verifying');
    const contested = servicePath(shop, 'podinfo');
    await eventually(
      'Holdfast waits before it answers the other writer again',
      async () => (await writesIn(contested, 1_000)) === 0,
    );
    const heal = shop.pods(({ isPrimary, version }) =>
      isPrimary && version === 'v2' ? { failure: 'CrashLoopBackOff' } : undefined,
    );
    const load = shop.startLoad();
    await shop.until('v2 was reverted', ({ phase, run }) => phase === 'Failed' && !run);
    heal();
    expect(serving(shop)).toEqual(['podinfo-primary 100']);
    const path = `/apis/flagger.app/v1beta1/namespaces/${shop.namespace}/canaries/podinfo`;
    const { body } = await shops.bed().send('GET', path);
    const { apiVersion, kind, spec } = body as KubernetesObject;
    const unusable = { ...(spec as object), provider: 'nginx' };
    const invalid = JSON.stringify({ apiVersion, kind, metadata: { name: 'podinfo' }, spec: unusable });
    await shop.commit('Without an ingress', { 'canary.yaml': invalid });
    await shop.until('both are told', (status) => {
      const { message = '' } = readyOf(status) ?? {};
      return message.includes('stays in force') && message.includes('undoes what Holdfast writes');
    });
    await shop.commit('without the Canary', { 'canary.yaml': null });
    await shops.bed().send('DELETE', path);
    const { requests } = load.current();
    await shop.until('the Canary is gone', ({ phase }) => phase === undefined);
    stop();
    // 25 a second: progressDeadlineSeconds and what is allowed beyond that.
    expect(load.current().requests - requests).toBeLessThan(180 * 25);
    await shops.pass(10_000);
    // Both pods of v2 failed at once, before the traffic could move.
    const failedAt = load.stop().failures.map(({ at }) => Date.parse(at));
    expect(Math.max(...failedAt) - Math.min(...failedAt)).toBeLessThan(2_000);
  });
});

/** All of its requests go to the primary. */
function unweighed(route: KubernetesObject): KubernetesObject {
  const { rules } = route.spec as { rules: Array<{ backendRefs: Array<{ name: string; weight: number }> }> };
  for (const backend of rules.flatMap(({ backendRefs }) => backendRefs))
    backend.weight = backend.name === 'podinfo-primary' ? 100 : 0;
  return route;
}

describe('an admission webhook that changes what carries the requests', () => {
  test('the selector of the Service of the primary: it is told, and not written without end', async () => {
    const shop = await shops.openRunning('selected', checks);
    const end = shops
      .bed()
      .sandbox.webhook((key, object) =>
        key === '/services' &&
        object.metadata.namespace === 'selected' &&
        object.metadata.name === 'podinfo-primary'
          ? { ...object, spec: { ...(object.spec as object), selector: theirs } }
          : object,
      );
    await change(shop);
    await shop.until('it is told', isTold);
    expect(readyOf(shop.status())?.message).toMatch(
      /Service selected\/podinfo-primary: spec\.selector\.app is \S+, not podinfo-primary, right after it was written/,
    );
    expect(await writesIn(servicePath(shop), 60_000)).toBeLessThan(12);
    end();
    await shop.until('it is at rest', (status) => readyOf(status)?.status === 'True');
  });

  test('the weights of a route: a release stays at its step, it is told, and goes on without the webhook', async () => {
    const shop = await shops.openRunning('weighed', checks);
    const end = shops
      .bed()
      .sandbox.webhook((key, object) =>
        key.endsWith('/httproutes') && object.metadata.namespace === 'weighed' ? unweighed(object) : object,
      );
    const commit = await shop.release('v2');
    await shop.until('it is told', isTold);
    expect(readyOf(shop.status())?.message).toMatch(
      /HTTPRoute weighed\/podinfo: the canary has 0 %, not 50 %, right after it was written: an admission webhook or policy changes it/,
    );
    end();
    await shop.until('v2 is live', ({ lastPromotedCommit }) => lastPromotedCommit === commit);
  });

  test('the rules of a route, to which it adds a header: it is no contention, and a release is promoted', async () => {
    const shop = await shops.openRunning('tagged', checks);
    const filters = [
      { type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'a', value: 'b' }] } },
    ];
    const end = shops.bed().sandbox.webhook((key, object) => {
      if (!key.endsWith('/httproutes') || object.metadata.namespace !== 'tagged') return object;
      const spec = object.spec as { rules?: object[] };
      return { ...object, spec: { ...spec, rules: spec.rules?.map((rule) => ({ ...rule, filters })) } };
    });
    const commit = await shop.release('v2');
    await shop.until('v2 is live', ({ lastPromotedCommit }) => lastPromotedCommit === commit);
    const path = `/apis/gateway.networking.k8s.io/v1/namespaces/${shop.namespace}/httproutes/podinfo`;
    expect(await writesIn(path, 60_000)).toBe(0);
    end();
  });
});
