/** What a person with the role `view` in one namespace sees of a release that does not become ready, on the real API server. */
import { expect, test } from 'vitest';
import type { EventLine } from '../../../src/cli/inspect/event-lines.ts';
import { run } from '../../sandbox/cli-run.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { kubeconfigOf } from '../bed/installed.ts';
import { shareHoldfast } from './shop.ts';

const bed: BedClient = useBed();
const namespace = 'inspect';
const shops = shareHoldfast(bed, [namespace]);
const rbac = 'rbac.authorization.k8s.io';

/** A service account with the role `view`, and Holdfast's kinds as the rights of `holdfast install` add them to it. */
async function viewer(): Promise<string> {
  const subjects = [{ kind: 'ServiceAccount', name: 'viewer', namespace }];
  const binding = (name: string, kind: string, role: string) => ({
    ...{ apiVersion: `${rbac}/v1`, kind: 'RoleBinding', metadata: { name, namespace } },
    ...{ roleRef: { apiGroup: rbac, kind, name: role }, subjects },
  });
  await bed.apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'viewer', namespace } },
    {
      ...{ apiVersion: `${rbac}/v1`, kind: 'Role', metadata: { name: 'view-holdfast', namespace } },
      rules: [
        {
          apiGroups: ['flagger.app', 'holdfast.dev'],
          resources: ['canaries', 'sources'],
          verbs: ['get', 'list', 'watch'],
        },
      ],
    },
    binding('view', 'ClusterRole', 'view'),
    binding('view-holdfast', 'Role', 'view-holdfast'),
  ]);
  return kubeconfigOf(bed, namespace, 'viewer');
}

test('tree, events and logs show what the role view may read, and name the rest', async () => {
  const shop = await shops.openRunning(namespace, {
    analysis: { interval: '2s', threshold: 2, stepWeights: [50], metrics: [] },
  });
  const kubeconfig = await viewer();
  const cli = (...words: string[]) => run(...words, '--kubeconfig', kubeconfig, '-n', namespace);
  await waitFor(async () => (await cli('tree', 'canary/podinfo')).code === 0, {
    ...{ timeoutMs: 120_000, what: 'the role is known' },
  });
  await shop.release('v2', { READY: 'false' });

  // The Deployment controller has taken the change up only when pods are counted: before, the line says that it has not.
  const canaryLine = /Deployment inspect\/podinfo +progressing +canary .*\d of \d pods/;
  const text = await waitFor(
    async () => {
      const answer = await cli('tree', 'source/shop');
      return canaryLine.test(answer.text) ? answer.text : undefined;
    },
    { timeoutMs: 120_000, what: 'a canary that is not ready' },
  );
  const { trees } = JSON.parse((await cli('tree', 'source/shop', '-o', 'json')).stdout) as {
    trees: Array<{ unread: string[] }>;
  };
  expect(trees[0]?.unread).toContain(`Secret in namespace ${namespace}: you may not read this`);
  expect(text).toMatch(/Deployment inspect\/podinfo-primary +healthy +primary/);
  expect(text).toContain('not shown: Secret in namespace inspect: you may not read this');

  const events = await waitFor(
    async () => {
      const { stdout } = await cli('events', 'canary/podinfo', '-o', 'json');
      const lines = (JSON.parse(stdout) as { events: EventLine[] }).events;
      const kinds = new Set(lines.map(({ object }) => object.split(' ')[0]));
      return ['Canary', 'Deployment', 'ReplicaSet'].every((kind) => kinds.has(kind)) ? lines : undefined;
    },
    { timeoutMs: 120_000, what: 'Events of the Canary and its workloads' },
  );
  // Events are reported by controllers of their own time: each has one all the same.
  expect(events.filter(({ lastTime }) => Number.isNaN(Date.parse(lastTime)))).toEqual([]);
  expect(events.find(({ object }) => object.startsWith('Canary '))?.source).toContain('holdfast');

  const logs = await cli('logs', 'canary/podinfo');
  // The bed's kubelet serves no logs: what the API server says about that is all there is.
  expect(logs.code).toBe(2);
  expect(logs.text).toMatch(
    /\[pod\/podinfo-\S+\/\S+\] canary: not ready\n[\s\S]*get log of Pod inspect\/podinfo-/,
  );
  await shop.close();
});
