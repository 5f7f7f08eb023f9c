/** Rows of docs/guides/diagnosis.md, each on the primary alone unless it says otherwise: what the sandbox's pods report is what a kubelet reports. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PodOutcome } from '../../../sandbox/controllers/pod-behaviour.ts';
import type { Canary } from '../../../src/api/canary/canary.ts';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import type { Explanation } from '../../../src/review/explain/explanation.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { imageOf, replicasOf } from '../../objects.ts';
import { condition, isHeldByCanary, type ShopOptions } from '../../shop.ts';
import { run } from '../cli-run.ts';
import { type Shop, useShops } from './shop.ts';

const shops = useShops();
const table = readFileSync(resolve(import.meta.dirname, '../../../docs/guides/diagnosis.md'), 'utf8');
type Hook = NonNullable<Canary['spec']['analysis']['webhooks']>[number];
const steps = { interval: '3s', threshold: 2, stepWeights: [60], metrics: [] };
const options: ShopOptions = { primaryDeadlineSeconds: 30, analysis: steps };

let hooks: HookServer;

beforeAll(async () => {
  hooks = await startHookServer();
});
afterAll(() => hooks.close());

/** What the guide says `auto` does about a cause. */
function rowOf(cause: string): { canaryHealthy: string; canaryToo: string } {
  const row = table.split('\n').find((line) => line.startsWith(`| ${cause} |`));
  const [canaryHealthy = '', canaryToo = ''] = row?.split(' | ').slice(-2) ?? [];
  return { canaryHealthy, canaryToo: canaryToo.replace(' |', '') };
}

/** The release is held while the canary serves; explain says why as soon as the fault shows, and the guide has it so. */
async function expectHeld(shop: Shop, cause: string, evidence: RegExp): Promise<void> {
  const { judgement } = await explained(shop, cause, evidence);
  expect(judgement).toMatchObject({ action: 'hold', onCanaryToo: false });
  await shop.until('held', isHeldByCanary);
  expect(rowOf(cause).canaryHealthy).toBe('hold; revert after another deadline without progress');
}

/** One command line at a time: they all print to the same output. */
let printing: Promise<unknown> = Promise.resolve();

function explain({ namespace }: Shop): Promise<Explanation> {
  const { kubeconfigPath } = shops.bed();
  const words = ['explain', 'canary/podinfo', '-n', namespace, '--kubeconfig', kubeconfigPath, '-o', 'json'];
  const asked = printing.then(() => run(...words, '--min-analysis-interval', '1s'));
  printing = asked;
  return asked.then(({ stdout }) => JSON.parse(stdout) as Explanation);
}

/** What explain says once it names this cause with this evidence; it is asked twice in each second of the shops' time. */
async function explained(shop: Shop, cause: string, evidence: RegExp): Promise<Explanation> {
  await shop.until('converging', ({ postPromotion }) => postPromotion?.state === 'Converging');
  let last: Explanation['judgement'];
  for (let looks = 0; looks < 240; looks += 1) {
    const explanation = await shops.meanwhile(() => explain(shop));
    const { judgement } = explanation;
    if (judgement?.cause === cause && evidence.test(judgement.evidence.join('\n'))) return explanation;
    last = judgement ?? last;
    await shops.pass(500);
  }
  throw new Error(`${shop.namespace}: explain never names ${cause}; last: ${JSON.stringify(last)}`);
}

async function expectReverted(shop: Shop): Promise<void> {
  const ended = await shop.until('reverted', ({ phase, run: release }) => phase === 'Failed' && !release);
  expect(condition(ended, 'Reverted')).toBe('True');
  expect(ended.rejected).toHaveLength(1);
  expect(ended.canaryWeight).toBe(0);
  expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
  expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
}

/** A release waits at its last step, behind a gate that `hooks.answer(name, 200)` opens. */
function gated(name: string): ShopOptions {
  const gate: Hook = { name: 'gate', type: 'confirm-promotion', url: hooks.url(name) };
  hooks.answer(name, 403);
  return { ...options, analysis: { ...steps, webhooks: [gate] } };
}

const isBeforePromotion = ({ phase }: CanaryStatus) => phase === 'WaitingPromotion';

/** Pods of the new release behave so, on the primary alone. */
const onThePrimary = (shop: Shop, outcome: PodOutcome) =>
  shop.pods(({ isPrimary, version }) => (isPrimary && version === 'v2' ? outcome : undefined));

const waiting = (reason: string, message: string): PodOutcome => ({
  failure: 'Waiting',
  waiting: { reason, message },
});

describe.concurrent('the cause', () => {
  test('[SlowStart] [auto-heals] a slow pull is held, and promoted when the image has come', async () => {
    const patient = { strategy: { type: 'Recreate' }, primaryDeadlineSeconds: 20 };
    const shop = await shops.openRunning('slow-pull', { ...options, ...patient });
    const load = shop.startLoad();
    const pulled = onThePrimary(shop, { failure: 'Waiting' });
    const commit = await shop.release('v2');
    await expectHeld(shop, 'SlowStart', /ContainerCreating in container app/);
    pulled();
    const ended = await shop.until(
      'promoted',
      ({ phase, run: release }) => phase === 'Succeeded' && !release,
    );
    expect(ended.lastPromotedCommit).toBe(commit);
    expect(ended.rejected ?? []).toEqual([]);
    expect(load.stop().failures).toEqual([]);
  });

  test.each<[cause: string, namespace: string, outcome: PodOutcome, evidence: RegExp]>([
    [
      'PullDenied',
      'pull-denied',
      waiting(
        'ImagePullBackOff',
        'Back-off pulling image "app:v2": ErrImagePull: pull access denied, authorization failed',
      ),
      /ImagePullBackOff in container app: .*authorization failed/,
    ],
    ['ProbeFails', 'probe-fails', { failure: 'NotReady' }, /NotReadyYet in container app/],
  ])('[%s] on the primary alone is held, then reverted', async (cause, namespace, outcome, evidence) => {
    const shop = await shops.openRunning(namespace, options);
    onThePrimary(shop, outcome);
    const load = shop.startLoad();
    await shop.release('v2');
    await expectHeld(shop, cause, evidence);
    await expectReverted(shop);
    expect(load.stop().failures).toEqual([]);
  });

  test('[ReferenceMissing] a key that is taken away meanwhile is held, then reverted', async () => {
    const shop = await shops.openRunning('reference', gated('reference'));
    // Config that is not tracked is no part of the release: both copies read the one object.
    await settings(shop, 'POST', configMap({ level: 'info' }, { 'flagger.app/config-tracking': 'disabled' }));
    const load = shop.startLoad();
    const level = { name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } };
    await shop.release('v2', {}, { container: { env: [level] } });
    await shop.until('waiting for promotion', isBeforePromotion);
    await settings(shop, 'PATCH', { data: { level: null, mode: 'safe' } });
    const message = "couldn't find key level in ConfigMap reference/settings";
    onThePrimary(shop, waiting('CreateContainerConfigError', message));
    hooks.answer('reference', 200);
    await expectHeld(
      shop,
      'ReferenceMissing',
      /CreateContainerConfigError in container app: couldn't find key level in ConfigMap reference\/settings/,
    );
    await expectReverted(shop);
    expect(load.stop().failures).toEqual([]);
  });

  test('[CrashLoop] [auto-canary-fails-too] on both copies is reverted at once, long before the deadline', async () => {
    const shop = await shops.openRunning('crash-both', { ...options, primaryDeadlineSeconds: 300 });
    onThePrimary(shop, { failure: 'CrashLoopBackOff' });
    await shop.release('v2');
    const converging = await explained(
      shop,
      'CrashLoop',
      /CrashLoopBackOff in container app: .*(exit|restarting)/,
    );
    expect(converging).toMatchObject({
      state: 'Converging',
      judgement: { action: 'hold', onCanaryToo: false },
    });

    let isLate = false;
    void shops.pass(200_000).then(() => {
      isLate = true;
    });
    shop.pods(({ version }) => (version === 'v2' ? { failure: 'CrashLoopBackOff' } : undefined));
    await expectReverted(shop);
    expect(isLate).toBe(false);

    expect(rowOf('CrashLoop').canaryToo).toBe('revert at once');
    const [told] = shop.status().incidents ?? [];
    expect(JSON.stringify(told)).toContain('CrashLoop');
  });
});

/** Somebody writes the ConfigMap `settings`, which is in the cluster alone. */
function settings(
  { namespace }: Shop,
  method: 'POST' | 'PATCH' | 'DELETE',
  body?: unknown,
): Promise<unknown> {
  const path = `/api/v1/namespaces/${namespace}/configmaps${method === 'POST' ? '' : '/settings'}`;
  return shops.bed().send(method, path, body);
}

function configMap(data: Record<string, string>, annotations: Record<string, string> = {}) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', annotations }, data };
}
