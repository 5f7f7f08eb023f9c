/** Sides of which a part is broken, and writes that are refused: the release goes on or goes back all the same. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pauseAnnotation } from '../../../src/api/annotations.ts';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import type { Load } from '../bed/load.ts';
import { untilStandsStill } from './answers.ts';
import { canaryShare, followObject } from './object-trail.ts';
import { breakPods, podsOf } from './pods.ts';
import { type Reviewed, startRewritingWebhook } from './rewriting-webhook.ts';
import { condition, imageOf, replicasOf, type Shop, type ShopOptions, shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, [
  'one-of-two',
  'fails-at-half',
  'good-dies',
  'halt-newer',
  'primary-fails',
  'paused-fails',
  'scaled-primary',
  'half-is-enough',
  'one-cannot-pull',
  'invalid-spec',
  'no-secrets',
]);
/** What must come about although something is broken; the core of old waited for it without end. */
const PATIENCE_MS = 90_000;
const neverReady = { PRIMARY_READY: 'false' };

let hooks: HookServer;
beforeAll(async () => {
  hooks = await startHookServer();
});
afterAll(() => hooks.close());

type Analysis = NonNullable<ShopOptions['analysis']>;

const isAtTheGate = ({ phase }: CanaryStatus) => phase === 'WaitingPromotion';
const isHeldByCanary = ({ postPromotion, canaryWeight }: CanaryStatus) =>
  postPromotion?.state === 'Held' && canaryWeight === 100;
const isFailed = ({ phase, run }: CanaryStatus) => phase === 'Failed' && !run;
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

const breakPrimary = ({ namespace }: Shop, count: number) =>
  breakPods(bed, namespace, { workload: 'podinfo-primary', count, fault: 'unready' });

const untilQuiet = (load: Load) => untilStandsStill(load, 'no request fails', ({ failed }) => failed);

/** What the primary and the route went through from here on. */
function follow(namespace: string) {
  const primary = { kind: 'Deployment', namespace, name: 'podinfo-primary' } as const;
  const images = followObject(bed, primary, imageOf);
  const shares = followObject(bed, { kind: 'HTTPRoute', namespace, name: 'podinfo' }, canaryShare);
  return {
    images: images.values,
    shares: shares.values,
    close: () => {
      images.close();
      shares.close();
    },
  };
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

/** The next pod of the primary that runs this image is given another, which there is none of; those after it are not. */
function loseImageOnce(namespace: string, image: string): Promise<{ close(): Promise<void> }> {
  let lost = 0;
  const patch = ({ metadata, spec }: Reviewed) => {
    const isWanted = metadata.labels?.app === 'podinfo-primary' && spec.containers[0]?.image === image;
    if (!isWanted || lost > 0) return [];
    lost += 1;
    return [{ op: 'replace', path: '/spec/containers/0/image', value: `missing/${image}` }];
  };
  return startRewritingWebhook(bed, { namespace, resource: 'pods', patch });
}

/** Name of the primary's pod whose image cannot be pulled. */
async function untilUnpulled(namespace: string): Promise<string> {
  const unpulled = async () => {
    const pods = await podsOf(bed, namespace, 'podinfo-primary');
    return pods.find(({ status }) => /ErrImagePull|ImagePullBackOff/.test(JSON.stringify(status)));
  };
  const what = `${namespace}: an image that is missing`;
  return (await waitFor(unpulled, { timeoutMs: PATIENCE_MS, what })).metadata.name;
}

const deletePod = (namespace: string, pod: string) =>
  bed.kubectl(['-n', namespace, 'delete', 'pod', pod, '--wait=false', '--ignore-not-found']);

describe.concurrent('a part of the pods is broken', () => {
  test('a hotfix gets through while one primary pod of two is broken (issue 11, 1)', async () => {
    const shop = await gated('one-of-two');
    open(shop);
    const load = shop.startLoad();
    await breakPrimary(shop, 1);
    const fix = await shop.release('v2');
    await shop.until('v2 promoted', isPromoted(fix), PATIENCE_MS);
    expect((await load.stop()).failures).toEqual([]);
    await expectPromoted(shop, 'app:v2');
    await shop.close();
  });

  test('a canary that fails at 50 % leaves though one primary pod of two is missing (issue 11, 1)', async () => {
    const shop = await gated('fails-at-half', { progressDeadlineSeconds: 20 });
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('v2 at the gate', isAtTheGate);
    await breakPrimary(shop, 1);
    const seen = follow(shop.namespace);
    failChecks(shop);
    const ended = await shop.until('v2 failed', isFailed, PATIENCE_MS);
    expect((await load.stop()).failures).toEqual([]);
    expect(ended.canaryWeight).toBe(0);
    expect(ended.rejected?.map((one) => one.commit)).toEqual([commit]);
    expect(Math.max(...seen.shares)).toBe(50);
    expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
    seen.close();
    await shop.close();
  });

  test('the last known good dies, then the canary fails: it serves on, and the pushed fix gets through (issue 11, 2)', async () => {
    const shop = await gated('good-dies', { progressDeadlineSeconds: 20 });
    const load = shop.startLoad();
    await shop.release('v2');
    await shop.until('v2 at the gate', isAtTheGate);
    await breakPrimary(shop, 2);
    await shop.until('the canary serves', ({ canaryWeight }) => canaryWeight === 100, PATIENCE_MS);
    const before = await untilQuiet(load);
    failChecks(shop);
    const fallen = await shop.until('v2 failed', ({ phase }) => phase === 'Failed', PATIENCE_MS);
    passChecks(shop);
    open(shop);
    const fix = await shop.release('v3', {}, { canaryDeadlineSeconds: 60 });
    await shop.until('v3 promoted', isPromoted(fix), PATIENCE_MS);
    expect((await load.stop()).failed).toBe(before.failed);
    expect(fallen.canaryWeight).toBe(100);
    await expectPromoted(shop, 'app:v3');
    await shop.close();
  });

  test('with ready thresholds of 50 one pod of two is enough to leave the canary, and to promote (issue 11, 6)', async () => {
    const namespace = 'half-is-enough';
    const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } };
    // What is missing fails checks: here they may.
    const postPromotion = { threshold: 10_000 };
    const thresholds = { primaryReadyThreshold: 50, canaryReadyThreshold: 50 };
    const shop = await gated(namespace, { strategy, postPromotion }, thresholds);
    const load = shop.startLoad();
    await shop.release('v2');
    await shop.until('v2 at the gate', isAtTheGate);
    await breakPrimary(shop, 1);
    failChecks(shop);
    const failed = await shop.until('v2 failed', isFailed, PATIENCE_MS);
    passChecks(shop);
    const next = await shop.release('v3');
    await shop.until('v3 at the gate', isAtTheGate, PATIENCE_MS);
    await breakPods(bed, namespace, { workload: 'podinfo', count: 1, fault: 'unready' });
    const registry = await loseImageOnce(namespace, 'app:v3');
    open(shop);
    const stuck = await untilUnpulled(namespace);
    const promoted = await shop.until(
      'all traffic on the one pod of the primary',
      ({ postPromotion: at }) => at?.state === 'Verifying',
      PATIENCE_MS,
    );
    await deletePod(namespace, stuck);
    await shop.until('v3 promoted', isPromoted(next), PATIENCE_MS);
    expect((await load.stop()).failures).toEqual([]);
    expect([failed.canaryWeight, promoted.canaryWeight]).toEqual([0, 0]);
    await expectPromoted(shop, 'app:v3');
    await registry.close();
    await shop.close();
  });

  test('one primary pod of two whose image cannot be pulled fails checks, and reverts nothing at once (issue 11, 10)', async () => {
    const namespace = 'one-cannot-pull';
    const verification = { name: 'verification', url: hooks.url(`${namespace}/verification`) };
    // Fails as long as the release is to be verified: failed checks are let pass here, so that nothing else ends it.
    hooks.answer(`${namespace}/verification`, 500);
    const postPromotion = { threshold: 10_000, webhooks: [verification] };
    const shop = await gated(namespace, { postPromotion }, { primaryReadyThreshold: 50 });
    open(shop);
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('v2 verifying', ({ postPromotion: at }) => at?.state === 'Verifying');
    const registry = await loseImageOnce(namespace, 'app:v2');
    const [first] = await podsOf(bed, namespace, 'podinfo-primary');
    await deletePod(namespace, first?.metadata.name ?? '');
    const stuck = await untilUnpulled(namespace);
    hooks.answer(`${namespace}/verification`, 200);
    const { postPromotion: before } = await shop.status();
    const judged = await shop.until(
      'two more checks have failed, or it is no longer verified',
      ({ postPromotion: at }) =>
        at?.state !== 'Verifying' || (at.failedChecks ?? 0) >= (before?.failedChecks ?? 0) + 2,
      PATIENCE_MS,
    );
    expect(judged.postPromotion?.state).toBe('Verifying');
    await deletePod(namespace, stuck);
    const ended = await shop.until('v2 promoted', isPromoted(commit), PATIENCE_MS);
    expect((await load.stop()).failures).toEqual([]);
    expect(ended.rejected ?? []).toEqual([]);
    await expectPromoted(shop, 'app:v2');
    await registry.close();
    await shop.close();
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
    const seen = follow(shop.namespace);
    const fix = await shop.release('v3', {}, { primaryDeadlineSeconds: 60 });
    const ended = await shop.until('v3 promoted', isPromoted(fix), PATIENCE_MS);
    expect((await load.stop()).failures).toEqual([]);
    expect(seen.images).toEqual(['app:v2', 'app:v3']);
    expect(seen.shares).toEqual([100, 70, 40, 0]);
    expect(ended.lastAppliedCommit).toBe(fix);
    await expectPromoted(shop, 'app:v3');
    seen.close();
    await shop.close();
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
    const seen = follow(shop.namespace);
    // What is tried on the primary is asked about under its own commit.
    hooks.answer(check(shop.namespace), ({ commit }) => (commit === bad ? 500 : 200));
    let bad = '';
    bad = await shop.release('v3', {}, { primaryDeadlineSeconds: 60 });
    const rejected = await shop.until(
      'v3 rejected, the canary serves',
      (status) => isHeldByCanary(status) && (status.rejected ?? []).some(({ commit }) => commit === bad),
      PATIENCE_MS,
    );
    const fix = await shop.release('v4', {}, { primaryDeadlineSeconds: 60 });
    await shop.until('v4 promoted', isPromoted(fix), PATIENCE_MS);
    expect((await load.stop()).failures).toEqual([]);
    expect(rejected.serving?.[0]?.workload).toBe('podinfo');
    expect(seen.shares).toEqual([100, 50, 100, 50, 0]);
    await expectPromoted(shop, 'app:v4');
    seen.close();
    await shop.close();
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
    const canary = await bed.readObject('Canary', namespace, 'podinfo');
    const spec = {
      ...(canary?.spec as object),
      analysis: { interval: '2s', threshold: 2, iterations: 0 },
    };
    const invalid = await shop.repo.commit(
      {
        'canary.yaml': JSON.stringify({
          apiVersion: canary?.apiVersion,
          kind: 'Canary',
          metadata: { name: 'podinfo' },
          spec,
        }),
      },
      'Analyse nothing',
    );
    await shop.untilRead(invalid);
    await shop.until('told of the spec', ({ conditions }) => /iterations/.test(JSON.stringify(conditions)));
    await breakPrimary(shop, 2);
    await shop.until('the canary serves', ({ canaryWeight }) => canaryWeight === 100, 30_000);
    const saved = await untilQuiet(load);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const seen = await load.stop();
    expect(seen.failed).toBe(saved.failed);
    await shop.close();
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
    await bed.kubectl(['-n', namespace, 'create', 'quota', 'full', '--hard=secrets=1']);
    const ended = await shop.until('v2 reverted', isFailed, PATIENCE_MS);
    const primary = await shop.workload('podinfo-primary');
    await bed.kubectl(['-n', namespace, 'delete', 'quota', 'full']);
    const saved = await shop.until(
      'the rejection is written',
      ({ rejected }) => rejected?.length === 1 && (rejected[0] as { pending?: boolean }).pending !== true,
    );
    expect((await load.stop()).failures).toEqual([]);
    expect(condition(ended, 'Reverted')).toBe('True');
    expect(ended.rejected?.map(({ commit }) => commit)).toEqual([bad]);
    expect(imageOf(primary)).toBe('app:v1');
    expect(saved.phase).toBe('Failed');
    await shop.close();
  });
});

describe.concurrent('what people do by hand', () => {
  test('pause keeps a failing canary from no end (issue 11, 14)', async () => {
    const shop = await gated('paused-fails');
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('v2 at the gate', isAtTheGate);
    await bed.kubectl(['-n', shop.namespace, 'annotate', 'canary/podinfo', `${pauseAnnotation}=true`]);
    open(shop);
    failChecks(shop);
    const ended = await shop.until('v2 failed', isFailed, PATIENCE_MS);
    expect((await load.stop()).failures).toEqual([]);
    expect(ended.canaryWeight).toBe(0);
    expect(ended.rejected?.map((one) => one.commit)).toEqual([commit]);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    await shop.close();
  });

  test('kubectl scale of the primary, to one pod or to none, is told and put back (issue 11, 14 and 22)', async () => {
    const shop = await gated('scaled-primary');
    const load = shop.startLoad();
    const scale = (replicas: number) =>
      bed.kubectl(['-n', shop.namespace, 'scale', 'deployment/podinfo-primary', `--replicas=${replicas}`]);
    const isTold = ({ conditions = [] }: CanaryStatus) =>
      conditions.some(
        ({ type, status, reason }) =>
          type === 'Drifted' && status === 'True' && /Replicas/.test(reason ?? ''),
      );
    const untilBack = (from: string) =>
      waitFor(async () => replicasOf(await shop.workload('podinfo-primary')) === 2, {
        timeoutMs: PATIENCE_MS,
        what: `${shop.namespace}: two pods again after ${from}`,
      });
    await scale(1);
    await shop.until('told of one pod', isTold, PATIENCE_MS);
    await untilBack('one');
    await shop.until('no drift', (status) => !isTold(status), PATIENCE_MS);
    expect(load.current().failures).toEqual([]);
    await scale(0);
    await shop.until('told of no pod', isTold, PATIENCE_MS);
    await untilBack('none');
    await shop.until('no drift again', (status) => !isTold(status), PATIENCE_MS);
    await untilQuiet(load);
    await load.stop();
    await shop.close();
  });
});
