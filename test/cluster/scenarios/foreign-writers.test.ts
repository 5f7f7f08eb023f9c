import { describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { conditionOf } from '../../../src/api/kubernetes.ts';
import type { SourceDifference } from '../../../src/review/diff/source-difference.ts';
import { imageOf } from '../../objects.ts';
import { condition } from '../../shop.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { runJson } from './command.ts';
import { type Reviewed, startRewritingWebhook } from './rewriting-webhook.ts';
import { openShop, shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['mirrored', 'pinned', 'filtered']);
/** Two iterations without metrics: what matters here is who writes what. */
const quick = { analysis: { interval: '1s', threshold: 2, iterations: 2 }, postPromotion: { metrics: [] } };

function driftMessage(status: CanaryStatus): string {
  return conditionOf(status, 'Drifted')?.message ?? '';
}

describe.concurrent('beside other writers', () => {
  test('pods whose images an admission webhook rewrites become ready, and are promoted', async () => {
    const namespace = 'mirrored';
    const mirror = ({ spec }: Reviewed) =>
      spec.containers.map(({ image }, index) => ({
        op: 'replace',
        path: `/spec/containers/${index}/image`,
        value: `mirror.example.com/${image}`,
      }));
    const shop = await shops.open(namespace, quick);
    const webhook = await startRewritingWebhook(bed, { namespace, resource: 'pods', patch: mirror });
    await shop.release('v1');
    await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
    const commit = await shop.release('v2');
    const ended = await shop.until('v2 succeeded', (status) => status.lastPromotedCommit === commit);
    const pods = await bed.listObjects('Pod', namespace);
    const images = pods.map(({ spec }) => (spec as Reviewed['spec']).containers[0]?.image);
    expect(images).toContain('mirror.example.com/app:v2');
    expect(condition(ended, 'Drifted')).toBe('False');
    await webhook.close();
    await shop.close();
  });

  test('a webhook that rewrites Deployments is no drift', async () => {
    const namespace = 'pinned';
    const pin = ({ spec }: Reviewed) =>
      spec.template.spec.containers.map(({ image }, index) => ({
        op: 'replace',
        path: `/spec/template/spec/containers/${index}/image`,
        value: `mirror.example.com/${image.replace('mirror.example.com/', '')}`,
      }));
    const shop = await shops.open(namespace, quick);
    const webhook = await startRewritingWebhook(bed, { namespace, resource: 'deployments', patch: pin });
    await shop.release('v1');
    await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
    const commit = await shop.release('v2');
    const ended = await shop.until('v2 succeeded', (status) => status.lastPromotedCommit === commit);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('mirror.example.com/app:v2');
    expect(condition(ended, 'Drifted')).toBe('False');
    await webhook.close();
    await shop.close();
  });

  test('kubectl set image on the primary is drift by its name; scaling and a restart are none', async () => {
    const namespace = 'drift';
    const shop = await openShop(bed, namespace, { ...quick, files: beside });
    await shop.release('v1');
    await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
    const primary = ['-n', namespace, 'deployment/podinfo-primary'];
    await bed.kubectl(['rollout', 'restart', ...primary]);
    await bed.kubectl(['rollout', 'status', '--timeout=600s', ...primary]);
    await waitFor(async () => condition(await shop.status(), 'Drifted') === 'False', {
      timeoutMs: 60_000,
      what: 'no drift after a restart',
    });
    await bed.kubectl(['set', 'image', ...primary, 'app=app:hotfix']);
    const drifted = await shop.until('drift', (status) => condition(status, 'Drifted') === 'True');
    expect(driftMessage(drifted)).toContain('kubectl-set');
    await bed.kubectl(['set', 'image', ...primary, 'app=app:v1']);
    await shop.until('no drift', (status) => condition(status, 'Drifted') === 'False');

    const diff = () => runJson<SourceDifference>(bed, 'diff', 'source/shop', '-n', namespace);
    const { objects, differs } = await diff();
    expect(objects.map(({ kind, state }) => `${kind} ${state}`).sort()).toEqual([
      ...['Canary same', 'ConfigMap same', 'NetworkPolicy same', 'PodDisruptionBudget same', 'Secret same'],
    ]);
    expect(differs).toBe(false);
    await shop.program.stop();
    const patch = JSON.stringify({ data: { level: 'debug' } });
    await bed.kubectl(['-n', namespace, 'patch', 'configmap', 'notes', '-p', patch]);
    expect((await diff()).objects.find(({ name }) => name === 'notes')).toMatchObject({
      ...{ state: 'differs', changedBy: 'kubectl-patch' },
      fields: [{ path: 'data.level', expected: 'info', actual: 'debug' }],
    });
    await shop.close();
  });

  test('a filter that kubectl adds to a rule of the route goes at once, and is told', async () => {
    const namespace = 'filtered';
    const shop = await shops.open(namespace, quick);
    await shop.release('v1');
    await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
    const rules = async () => {
      const route = await bed.readObject('HTTPRoute', namespace, 'podinfo');
      return (route?.spec as { rules: Array<{ filters?: object[] }> } | undefined)?.rules ?? [];
    };
    const filter = { type: 'RequestHeaderModifier', requestHeaderModifier: { remove: ['x-canary'] } };
    const patch = JSON.stringify([{ op: 'add', path: '/spec/rules/0/filters', value: [filter] }]);
    await bed.kubectl(['-n', namespace, 'patch', 'httproute', 'podinfo', '--type=json', '-p', patch]);
    await waitFor(async () => (await rules()).every(({ filters }) => filters === undefined), {
      timeoutMs: 60_000,
      what: 'no filter',
    });
    const told = /^HTTPRoute filtered\/podinfo: kubectl-patch changed .*; corrected at \d{4}-/;
    await shop.until('who and when is told', (status) => told.test(driftMessage(status) ?? ''));
    await shop.close();
  });
});

/** Objects of no Canary that the API server completes in its own way. */
const podSelector = { matchLabels: { app: 'podinfo-primary' } };
const beside = {
  notes: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'notes' }, data: { level: 'info' } },
  vault: {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'vault' },
    stringData: { password: 'hunter2' },
  },
  budget: {
    ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'podinfo' } },
    spec: { maxUnavailable: '50%', selector: podSelector },
  },
  policy: {
    ...{ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name: 'podinfo' } },
    spec: { podSelector, ingress: [{ ports: [{ port: 8080 }] }] },
  },
};
