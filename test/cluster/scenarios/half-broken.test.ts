/**
 * Sides of which a part is broken, by the kubelet and by admission: the release goes on or goes back all the same. More of it is played in
 * the sandbox (test/sandbox/scenarios/half-broken.test.ts).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { imageOf, replicasOf } from '../../objects.ts';
import { isFailed } from '../../shop.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { breakPods, podsOf } from './pods.ts';
import { type Reviewed, startRewritingWebhook } from './rewriting-webhook.ts';
import { type Shop, type ShopOptions, shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['half-is-enough', 'one-cannot-pull']);
/** What must come about although something is broken; the core of old waited for it without end. */
const PATIENCE_MS = 90_000;

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

const breakPrimary = ({ namespace }: Shop, count: number) =>
  breakPods(bed, namespace, { workload: 'podinfo-primary', count, fault: 'unready' });

/** The newest release ended well: the primary runs it whole, and the canary rests. */
async function expectPromoted(shop: Shop, image: string): Promise<void> {
  const primary = () => shop.workload('podinfo-primary');
  // On a busy machine a probe may fail once more.
  const isWhole = async () => {
    const workload = await primary();
    const { readyReplicas, updatedReplicas } = { ...(workload?.status as Record<string, unknown>) };
    return replicasOf(workload) === 2 && readyReplicas === 2 && updatedReplicas === 2;
  };
  const what = `${shop.namespace}: both pods of the primary run its release`;
  await waitFor(isWhole, { timeoutMs: PATIENCE_MS, what, describe: primary });
  expect(imageOf(await primary())).toBe(image);
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
