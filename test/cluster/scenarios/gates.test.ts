import { expect, test } from 'vitest';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { imageOf, openShop, untilRunning } from './shop.ts';

const bed: BedClient = useBed();
const namespace = 'own-gates';

/** A service account, and a token of it. With `verbs`, it may make these requests to Canaries. */
async function tokenOf(name: string, audience: string, verbs: readonly string[]): Promise<string> {
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name },
    rules: [{ apiGroups: ['flagger.app'], resources: ['canaries'], verbs: [...verbs] }],
  };
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  };
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } };
  await bed.apply([account, role, binding], namespace);
  return (await bed.kubectl(['create', 'token', name, '-n', namespace, `--audience=${audience}`])).trim();
}

test('a gate is opened over HTTP by who has a token for Holdfast and the right, and by nobody else', async () => {
  const webhooks: Array<{ name: string; type: 'confirm-rollout'; url: string }> = [];
  const shop = await openShop(bed, namespace, {
    analysis: { interval: '2s', threshold: 2, stepWeight: 50, webhooks },
    postPromotion: { metrics: [] },
  });
  const url = await shop.program.url();
  webhooks.push({ name: 'gate', type: 'confirm-rollout', url: `${url}/gate/check` });
  await untilRunning(shop);
  const release = shop.release('v2');
  const [may, mayNot, forServer] = await Promise.all([
    tokenOf('approver', 'holdfast.dev', ['gate']),
    tokenOf('reader', 'holdfast.dev', ['get', 'rollback-gate']),
    tokenOf('careless', 'https://kubernetes.default.svc', ['gate']),
  ]);
  await release;
  await shop.until('waiting', ({ phase }) => phase === 'Waiting');

  const post = async (token: string) => {
    const body = JSON.stringify({ name: 'podinfo', namespace });
    const answer = await fetch(`${url}/gate/open`, {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: answer.status, text: await answer.text() };
  };
  expect((await post('nonsense')).status).toBe(401);
  expect((await post(forServer)).status).toBe(401);
  const refused = await post(mayNot);
  expect(refused.status).toBe(403);
  expect(refused.text).toContain(`system:serviceaccount:${namespace}:reader may not gate`);
  expect((await shop.status()).phase).toBe('Waiting');

  expect((await post(may)).status).toBe(202);
  await shop.until('v2 succeeded', ({ phase, run }) => phase === 'Succeeded' && !run);
  expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
  const told = await waitFor(
    async () => {
      const events = await bed.kubectl(['get', 'events.events.k8s.io', '-n', namespace, '-o', 'json']);
      const { items } = JSON.parse(events) as { items: Array<{ reason: string; note: string }> };
      return items.find(({ reason }) => reason === 'GateSwitched');
    },
    { timeoutMs: 60_000, what: 'the event of who opened it' },
  );
  expect(told.note).toContain(`system:serviceaccount:${namespace}:approver set holdfast.dev/gate to open`);
  await shop.close();
});
