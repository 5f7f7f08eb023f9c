/** Sides of which a part is broken, and writes that are refused: the release goes on or goes back all the same. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pauseAnnotation } from '../../../src/api/annotations.ts';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import type { KubernetesObject } from '../../../src/api/kubernetes.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { imageOf, replicasOf } from '../../objects.ts';
import { condition, isFailed, isHeldByCanary, type ShopOptions } from '../../shop.ts';
import { eventually } from '../holdfast-bed.ts';
import { type Load, type Shop, useShops } from './shop.ts';

const shops = useShops();
const neverReady = { PRIMARY_READY: 'false' };

let hooks: HookServer;
beforeAll(async () => {
  hooks = await startHookServer();
});
afterAll(() => hooks.close());

type Analysis = NonNullable<ShopOptions['analysis']>;

const isAtTheGate = ({ phase }: CanaryStatus) => phase === 'WaitingPromotion';
const isPromoted = (commit: string) => (status: CanaryStatus) =>
  status.phase === 'Succeeded' && status.lastPromotedCommit === commit && !status.run;

const check = (namespace: string) => `${namespace}/check`;
const gate = (namespace: string) => `${namespace}/gate`;

/** v1 runs; a release waits at 50 % until its gate opens. Its check passes until the test says otherwise. */
function gated(
  namespace: string,
  options: ShopOptions = {},
  analysis: Partial<Analysis> = {},
): Promise<Shop> {
  hooks.answer(gate(namespace), 403);
  return shops.openRunning(namespace, {
    ...options,
    analysis: {
      interval: '2s',
      threshold: 2,
      stepWeights: [50],
      metrics: [],
      webhooks: [
        { name: 'check', type: 'rollout', url: hooks.url(check(namespace)) },
        { name: 'gate', type: 'confirm-promotion', url: hooks.url(gate(namespace)) },
      ],
      ...analysis,
    } as Analysis,
    postPromotion: { interval: '1s', metrics: [], ...options.postPromotion },
  });
}

const open = ({ namespace }: Shop) => hooks.answer(gate(namespace), 200);
const failChecks = ({ namespace }: Shop) => hooks.answer(check(namespace), 500);
const passChecks = ({ namespace }: Shop) => hooks.answer(check(namespace), 200);

/** Its first pods, where they are; what replaces them is sound. */
function breakPrimary(shop: Shop, count: number): void {
  const broken = shop.podsOf('podinfo-primary').slice(0, count);
  const names = new Set(broken.map(({ metadata }) => metadata.name));
  shop.pods(({ name }) => (names.has(name) ? { failure: 'NotReady' } : undefined));
}

/** Until no request has failed for a second. */
async function untilQuiet(load: Load): Promise<number> {
  for (let failed = -1; failed !== load.current().failed; ) {
    failed = load.current().failed;
    await shops.pass(1_000);
  }
  return load.current().failed;
}

/** What the primary and the route went through from here on, each value once for as long as it stayed. */
function follow({ namespace }: Shop): { readonly images: unknown[]; readonly shares: number[] } {
  const { store } = shops.bed().sandbox;
  const images: unknown[] = [];
  const shares: number[] = [];
  const note = <T>(values: T[], value: T) => values.at(-1) !== value && values.push(value);
  const look = (storageKey: string, object: KubernetesObject | undefined) => {
    if (!object || object.metadata.namespace !== namespace) return;
    const { name } = object.metadata;
    if (storageKey === 'apps/deployments' && name === 'podinfo-primary') note(images, imageOf(object));
    if (storageKey === routes && name === 'podinfo') note(shares, canaryShare(object));
  };
  look('apps/deployments', store.get('apps/deployments', namespace, 'podinfo-primary'));
  look(routes, store.get(routes, namespace, 'podinfo'));
  store.subscribe(({ storageKey, object }) => look(storageKey, object));
  return { images, shares };
}

const routes = 'gateway.networking.k8s.io/httproutes';

/** The canary's share in percent, as an HTTPRoute of one rule says it. */
function canaryShare(route: KubernetesObject): number {
  const { rules } = route.spec as {
    rules: Array<{ backendRefs: Array<{ name: string; weight?: number }> }>;
  };
  return rules[0]?.backendRefs.find(({ name }) => name.endsWith('-canary'))?.weight ?? 0;
}

/** The newest release ended well: the primary runs it whole, and the canary rests. */
async function expectPromoted(shop: Shop, image: string): Promise<void> {
  const primary = await shop.workload('podinfo-primary');
  expect(imageOf(primary)).toBe(image);
  expect(primary?.status).toMatchObject({
    readyReplicas: replicasOf(primary),
    updatedReplicas: replicasOf(primary),
  });
  expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
}

describe.concurrent('a part of the pods is broken', () => {
  test('a hotfix gets through while one primary pod of two is broken (issue 11, 1)', async () => {
    const shop = await gated('one-of-two');
    open(shop);
    const load = shop.startLoad();
    breakPrimary(shop, 1);
    const fix = await shop.release('v2');
    await shop.until('v2 promoted', isPromoted(fix));
    expect(load.stop().failures).toEqual([]);
    await expectPromoted(shop, 'app:v2');
  });

  test('a canary that fails at 50 % leaves though one primary pod of two is missing (issue 11, 1)', async () => {
    const shop = await gated('fails-at-half', { progressDeadlineSeconds: 20 });
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('v2 at the gate', isAtTheGate);
    breakPrimary(shop, 1);
    const seen = follow(shop);
    failChecks(shop);
    const ended = await shop.until('v2 failed', isFailed);
    expect(load.stop().failures).toEqual([]);
    expect(ended.canaryWeight).toBe(0);
    expect(ended.rejected?.map((one) => one.commit)).toEqual([commit]);
    expect(Math.max(...seen.shares)).toBe(50);
    expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
  });

  test('the last known good dies, then the canary fails: it serves on, and the pushed fix gets through (issue 11, 2)', async () => {
    const shop = await gated('good-dies', { progressDeadlineSeconds: 20 });
    const load = shop.startLoad();
    await shop.release('v2');
    await shop.until('v2 at the gate', isAtTheGate);
    breakPrimary(shop, 2);
    await shop.until('the canary serves', ({ canaryWeight }) => canaryWeight === 100);
    const before = await untilQuiet(load);
    failChecks(shop);
    const fallen = await shop.until('v2 failed', ({ phase }) => phase === 'Failed');
    passChecks(shop);
    open(shop);
    const fix = await shop.release('v3', {}, { canaryDeadlineSeconds: 60 });
    await shop.until('v3 promoted', isPromoted(fix));
    expect(load.stop().failed).toBe(before);
    expect(fallen.canaryWeight).toBe(100);
    await expectPromoted(shop, 'app:v3');
  });
});

describe.concurrent('through the primary', () => {
  test('halt and a newer commit: it is tried on the primary by steps, and the last known good is not written between (issue 11, 7 and 9)', async () => {
    const shop = await gated(
      'halt-newer',
      { primaryDeadlineSeconds: 10, postPromotion: { onFailure: 'halt' } },
      { stepWeights: [30, 60] },
    );
    open(shop);
    const load = shop.startLoad();
    await shop.release('v2', neverReady);
    await shop.until('v2 held', isHeldByCanary);
    const seen = follow(shop);
    const fix = await shop.release('v3', {}, { primaryDeadlineSeconds: 60 });
    const ended = await shop.until('v3 promoted', isPromoted(fix));
    expect(load.stop().failures).toEqual([]);
    expect(seen.images).toEqual(['app:v2', 'app:v3']);
    expect(seen.shares).toEqual([100, 70, 40, 0]);
    expect(ended.lastAppliedCommit).toBe(fix);
    await expectPromoted(shop, 'app:v3');
  });

  test('what fails its analysis on the primary gives all traffic back to the canary; the next one gets through (issue 11, 9)', async () => {
    const shop = await gated('primary-fails', {
      primaryDeadlineSeconds: 10,
      postPromotion: { onFailure: 'halt' },
    });
    open(shop);
    const load = shop.startLoad();
    await shop.release('v2', neverReady);
    await shop.until('v2 held', isHeldByCanary);
    const seen = follow(shop);
    // What is tried on the primary is asked about under its own commit.
    hooks.answer(check(shop.namespace), ({ commit }) => (commit === bad ? 500 : 200));
    let bad = '';
    bad = await shop.release('v3', {}, { primaryDeadlineSeconds: 60 });
    const rejected = await shop.until(
      'v3 rejected, the canary serves',
      (status) => isHeldByCanary(status) && (status.rejected ?? []).some(({ commit }) => commit === bad),
    );
    const fix = await shop.release('v4', {}, { primaryDeadlineSeconds: 60 });
    await shop.until('v4 promoted', isPromoted(fix));
    expect(load.stop().failures).toEqual([]);
    expect(rejected.serving?.[0]?.workload).toBe('podinfo');
    expect(seen.shares).toEqual([100, 50, 100, 50, 0]);
    await expectPromoted(shop, 'app:v4');
  });
});

describe.concurrent('writes that are refused, and specs that cannot be acted on', () => {
  test('an invalid spec during verification ends no protection: the canary serves when the primary dies (issue 11, 4)', async () => {
    const namespace = 'invalid-spec';
    const shop = await gated(namespace, { postPromotion: { successThreshold: 1_000 } });
    open(shop);
    const load = shop.startLoad();
    await shop.release('v2');
    await shop.until('v2 verifying', ({ postPromotion }) => postPromotion?.state === 'Verifying');
    const canary = await shops.bed().get('flagger.app/v1beta1', 'Canary', 'podinfo', namespace);
    const spec = {
      ...(canary?.spec as object),
      analysis: { interval: '2s', threshold: 2, iterations: 0.5 },
    };
    const invalid = await shop.commit('Analyse nothing', {
      'canary.yaml': JSON.stringify({
        apiVersion: canary?.apiVersion,
        kind: 'Canary',
        metadata: { name: 'podinfo' },
        spec,
      }),
    });
    await shop.untilRead(invalid);
    await shop.until('told of the spec', ({ conditions }) => /iterations/.test(JSON.stringify(conditions)));
    breakPrimary(shop, 2);
    await shop.until('the canary serves', ({ canaryWeight }) => canaryWeight === 100);
    const saved = await untilQuiet(load);
    await shops.pass(3_000);
    const seen = load.stop();
    expect(seen.failed).toBe(saved);
  });

  test('a quota that refuses Secrets stops no revert; the rejection is written when there is room (issue 11, 5)', async () => {
    const namespace = 'no-secrets';
    const shop = await gated(namespace, {
      primaryDeadlineSeconds: 10,
      postPromotion: { onFailure: 'revert' },
    });
    open(shop);
    const load = shop.startLoad();
    const bad = await shop.release('v2', neverReady);
    await shop.until('v2 converging', ({ postPromotion }) => postPromotion?.state === 'Converging');
    const room = shops
      .bed()
      .sandbox.fault(({ method, path }) =>
        method !== 'GET' && path.startsWith(`/api/v1/namespaces/${namespace}/secrets`)
          ? { code: 403, reason: 'Forbidden', message: 'exceeded quota: full, requested: secrets=1' }
          : undefined,
      );
    const ended = await shop.until('v2 reverted', isFailed);
    const primary = await shop.workload('podinfo-primary');
    room();
    const saved = await shop.until(
      'the rejection is written',
      ({ rejected }) => rejected?.length === 1 && (rejected[0] as { pending?: boolean }).pending !== true,
    );
    expect(load.stop().failures).toEqual([]);
    expect(condition(ended, 'Reverted')).toBe('True');
    expect(ended.rejected?.map(({ commit }) => commit)).toEqual([bad]);
    expect(imageOf(primary)).toBe('app:v1');
    expect(saved.phase).toBe('Failed');
  });
});

describe.concurrent('what people do by hand', () => {
  test('pause keeps a failing canary from no end (issue 11, 14)', async () => {
    const shop = await gated('paused-fails');
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('v2 at the gate', isAtTheGate);
    await shop.annotate(pauseAnnotation, 'true');
    open(shop);
    failChecks(shop);
    const ended = await shop.until('v2 failed', isFailed);
    expect(load.stop().failures).toEqual([]);
    expect(ended.canaryWeight).toBe(0);
    expect(ended.rejected?.map((one) => one.commit)).toEqual([commit]);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
  });

  test('kubectl scale of the primary, to one pod or to none, is told and put back (issue 11, 14 and 22)', async () => {
    const shop = await gated('scaled-primary');
    const load = shop.startLoad();
    const scale = (replicas: number) =>
      shops
        .bed()
        .send('PATCH', `/apis/apps/v1/namespaces/${shop.namespace}/deployments/podinfo-primary/scale`, {
          spec: { replicas },
        });
    const isTold = ({ conditions = [] }: CanaryStatus) =>
      conditions.some(
        ({ type, status, reason }) =>
          type === 'Drifted' && status === 'True' && /Replicas/.test(reason ?? ''),
      );
    const untilBack = (from: string) =>
      eventually(
        `two pods again after ${from}`,
        async () => replicasOf(await shop.workload('podinfo-primary')) === 2,
      );
    await scale(1);
    await shop.until('told of one pod', isTold);
    await untilBack('one');
    await shop.until('no drift', (status) => !isTold(status));
    expect(load.current().failures).toEqual([]);
    await scale(0);
    await shop.until('told of no pod', isTold);
    await untilBack('none');
    await shop.until('no drift again', (status) => !isTold(status));
    await untilQuiet(load);
  });
});
