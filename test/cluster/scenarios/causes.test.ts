/**
 * Rows of docs/guides/diagnosis.md that scheduler, quota and admission make, on the primary alone. Those that a kubelet makes are played in
 * the sandbox (test/sandbox/scenarios/causes.test.ts).
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Canary } from '../../../src/api/canary/canary.ts';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import type { Explanation } from '../../../src/review/explain/explanation.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { imageOf, replicasOf } from '../../objects.ts';
import { condition, isHeldByCanary } from '../../shop.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { runJson } from './command.ts';
import { type Reviewed, startRewritingWebhook } from './rewriting-webhook.ts';
import { type Shop, type ShopOptions, shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['config-deleted', 'no-room', 'quota', 'sidecar']);
const table = readFileSync(resolve(import.meta.dirname, '../../../docs/guides/diagnosis.md'), 'utf8');
type Hook = NonNullable<Canary['spec']['analysis']['webhooks']>[number];
const steps = { interval: '3s', threshold: 2, stepWeights: [60], metrics: [] };
const options: ShopOptions = { primaryDeadlineSeconds: 10, analysis: steps };

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

const explain = (namespace: string) =>
  runJson<Explanation>(bed, 'explain', 'canary/podinfo', '-n', namespace, '--min-analysis-interval', '1s');

/** The release is held while the canary serves; explain says why as soon as the fault shows, and the guide has it so. */
async function expectHeld(shop: Shop, cause: string, evidence: RegExp): Promise<void> {
  await shop.until('converging', ({ postPromotion }) => postPromotion?.state === 'Converging');
  const { judgement } = await explained(shop.namespace, cause, evidence);
  expect(judgement).toMatchObject({ action: 'hold', onCanaryToo: false });
  await shop.until('held', isHeldByCanary);
  expect(rowOf(cause).canaryHealthy).toBe('hold; revert after another deadline without progress');
}

/** What explain says once it names this cause with this evidence: slow machines take their time to make pods, and to fail them. */
function explained(namespace: string, cause: string, evidence: RegExp): Promise<Explanation> {
  let last: Explanation['judgement'];
  return waitFor(
    async () => {
      const explanation = await explain(namespace);
      const { judgement } = explanation;
      last = judgement ?? last;
      const isSeen = judgement?.cause === cause && evidence.test(judgement.evidence.join('\n'));
      return isSeen ? explanation : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 1_000, what: `${namespace}: ${cause}`, describe: async () => last },
  );
}

async function expectReverted(shop: Shop): Promise<void> {
  const ended = await shop.until('reverted', ({ phase, run }) => phase === 'Failed' && !run);
  expect(condition(ended, 'Reverted')).toBe('True');
  expect(ended.rejected).toHaveLength(1);
  expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
  expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
}

async function expectPromoted(shop: Shop, commit: string): Promise<void> {
  const ended = await shop.until('promoted', ({ phase, run }) => phase === 'Succeeded' && !run);
  expect(ended.lastPromotedCommit).toBe(commit);
  expect(ended.rejected ?? []).toEqual([]);
}

/** A release waits at its last step, behind a gate that `hooks.answer(name, 200)` opens. */
function gated(name: string): ShopOptions {
  const gate: Hook = { name: 'gate', type: 'confirm-promotion', url: hooks.url(name) };
  hooks.answer(name, 403);
  return { ...options, analysis: { ...steps, webhooks: [gate] } };
}

const isBeforePromotion = ({ phase }: CanaryStatus) => phase === 'WaitingPromotion';

/** Rewrites pods of the new release, on the primary alone. */
function onThePrimary(namespace: string, operations: readonly object[]) {
  return startRewritingWebhook(bed, {
    namespace,
    resource: 'pods',
    patch: ({ metadata, spec }: Reviewed) =>
      metadata.labels?.app === 'podinfo-primary' && spec.containers[0]?.image.endsWith('app:v2')
        ? operations
        : [],
  });
}

const proxy = { name: 'proxy', image: 'missing/proxy:1' };

describe.concurrent('nobody has to act', () => {
  test('config outside Git that is deleted meanwhile fails the release in its analysis, and the primary is not written', async () => {
    const shop = await shops.openRunning('config-deleted', gated('config-deleted'));
    await bed.apply([configMap({ level: 'info' })], shop.namespace);
    const load = shop.startLoad();
    const container = { envFrom: [{ configMapRef: { name: 'settings' } }] };
    await shop.release('v2', {}, { container });
    await shop.until('waiting for promotion', isBeforePromotion);
    await bed.api.request('DELETE', settingsOf(shop));
    const ended = await shop.until('failed', ({ phase, run }) => phase === 'Failed' && !run);
    expect((await load.stop()).failures).toEqual([]);
    expect(condition(ended, 'Reverted')).not.toBe('True');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    await shop.close();
  });
});

describe.concurrent('whoever runs the cluster has to act', () => {
  test('[Unschedulable] a full cluster is held, and promoted when there is room again', async () => {
    const namespace = 'no-room';
    const shop = await shops.openRunning(namespace, { ...options, primaryDeadlineSeconds: 15 });
    await bed.apply([hog('600')], namespace);
    const load = shop.startLoad();
    // Each of the two nodes has 1000: one pod of the canary fits beside the hog, one of the primary does not.
    const container = { resources: { requests: { cpu: '300' } } };
    const commit = await shop.release('v2', {}, { container });
    await expectHeld(shop, 'Unschedulable', /Unschedulable: .*Insufficient cpu/);
    await bed.kubectl(['-n', namespace, 'delete', 'daemonset', 'hog']);
    await expectPromoted(shop, commit);
    expect((await load.stop()).failures).toEqual([]);
    await shop.close();
  });

  test('[QuotaExceeded] a quota without room is held, then reverted', async () => {
    const namespace = 'quota';
    const shop = await shops.openRunning(namespace, options);
    // Two pods of the primary and two of the canary; the surge of the update would be the fifth.
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'few' },
      spec: { hard: { pods: '4' } },
    };
    await bed.apply([quota], namespace);
    // What is made before its controller has counted the pods is let in beside it.
    const counted = ['wait', 'quota/few', '--timeout=2m', '--for=jsonpath={.status.used.pods}=2'];
    await bed.kubectl(['-n', namespace, ...counted]);
    const load = shop.startLoad();
    await shop.release('v2');
    await expectHeld(shop, 'QuotaExceeded', /FailedCreate: .*exceeded quota: few/);
    await expectReverted(shop);
    expect((await load.stop()).failures).toEqual([]);
    await shop.close();
  });

  test('[SidecarFails] a container that only the primary gets is held, then reverted', async () => {
    const shop = await shops.openRunning('sidecar', options);
    const webhook = await onThePrimary(shop.namespace, [
      { op: 'add', path: '/spec/containers/-', value: proxy },
    ]);
    await shop.release('v2');
    await expectHeld(shop, 'SidecarFails', /ImagePullBackOff in container proxy/);
    await expectReverted(shop);
    await webhook.close();
    await shop.close();
  });
});

/** Where the API server has that ConfigMap: kubectl would take its time, and the promotion comes soon. */
function settingsOf({ namespace }: Shop): string {
  return `/api/v1/namespaces/${namespace}/configmaps/settings`;
}

/** The ConfigMap `settings`, in the cluster alone. */
function configMap(data: Record<string, string>, annotations: Record<string, string> = {}) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', annotations }, data };
}

/** Takes this much of the cpu of each node. */
function hog(cpu: string) {
  const container = { name: 'hog', image: 'fake/hog', resources: { requests: { cpu } } };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'hog' },
    spec: {
      selector: { matchLabels: { app: 'hog' } },
      template: { metadata: { labels: { app: 'hog' } }, spec: { containers: [container] } },
    },
  };
}
