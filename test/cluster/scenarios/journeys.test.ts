/** What people do with Holdfast that no other suite of the bed does (docs/journeys.md). */
import { describe, expect, test } from 'vitest';
import type { Condition, KubernetesObject } from '../../../src/api/kubernetes.ts';
import { imageOf } from '../../objects.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { runJson } from './command.ts';
import { openShopOn, type ShopOptions, shareHoldfast, untilRunning } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['journey-gate', 'journey-password']);
/** Releases are over as soon as their pods are ready. */
const quick: ShopOptions = {
  ...{ provider: 'kubernetes', spec: { skipAnalysis: true }, postPromotion: { metrics: [] } },
};

/** A service account, and a token of it. With `verbs`, it may make these requests to Canaries. */
async function tokenOf(
  namespace: string,
  name: string,
  audience: string,
  verbs: readonly string[],
): Promise<string> {
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

/** Asks the gate at `url` to open, as who has this token. */
async function postOpen(url: string, namespace: string, token: string) {
  const answer = await fetch(`${url}/gate/open`, {
    method: 'POST',
    body: JSON.stringify({ name: 'podinfo', namespace }),
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: answer.status, text: await answer.text() };
}

describe.concurrent('a person', () => {
  test('with a token for Holdfast and the right opens a gate over HTTP, and nobody else does; lets a release through by a command, and goes back by another without Git; the next commit gets through', async () => {
    const namespace = 'journey-gate';
    const webhooks: Array<{ name: string; type: 'confirm-rollout'; url: string }> = [];
    const shop = await shops.open(namespace, {
      analysis: { interval: '2s', threshold: 2, stepWeight: 50, webhooks },
      postPromotion: { metrics: [] },
    });
    const url = await shop.program.url();
    webhooks.push({ name: 'gate', type: 'confirm-rollout', url: `${url}/gate/check` });
    await untilRunning(shop);
    const load = shop.startLoad();
    const command = (...words: readonly string[]) =>
      runJson(bed, ...words, 'canary/podinfo', '-n', namespace);
    const waits = (commit: string) =>
      shop.until(`${commit} waits`, ({ phase, run }) => phase === 'Waiting' && run?.commit === commit);
    const succeeded = (commit: string) =>
      shop.until(
        `${commit} succeeded`,
        ({ lastPromotedCommit, run }) => lastPromotedCommit === commit && !run,
      );
    const v2 = await shop.release('v2');
    const [may, mayNot, forServer] = await Promise.all([
      tokenOf(namespace, 'approver', 'holdfast.dev', ['gate']),
      tokenOf(namespace, 'reader', 'holdfast.dev', ['get', 'rollback-gate']),
      tokenOf(namespace, 'careless', 'https://kubernetes.default.svc', ['gate']),
    ]);
    await waits(v2);

    const post = (token: string) => postOpen(url, namespace, token);
    expect((await post('nonsense')).status).toBe(401);
    expect((await post(forServer)).status).toBe(401);
    const refused = await post(mayNot);
    expect(refused.status).toBe(403);
    expect(refused.text).toContain(`system:serviceaccount:${namespace}:reader may not gate`);
    expect((await shop.status()).phase).toBe('Waiting');
    expect((await post(may)).status).toBe(202);
    await succeeded(v2);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    const told = await waitFor(
      async () => {
        const events = (await bed.listObjects('Event.events.k8s.io', namespace)) as ReadonlyArray<
          KubernetesObject & { readonly reason?: string; readonly note?: string }
        >;
        return events.find(({ reason }) => reason === 'GateSwitched');
      },
      { timeoutMs: 60_000, what: 'the event of who opened it' },
    );
    expect(told.note).toContain(`system:serviceaccount:${namespace}:approver set holdfast.dev/gate to open`);

    await command('gate', 'close');
    const v3 = await shop.release('v3');
    await waits(v3);
    await command('gate', 'open');
    await succeeded(v3);
    await command('rollback', '--yes', '--wait');
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    expect((await shop.status()).rejected?.map(({ commit }) => commit)).toEqual([v3]);
    await succeeded(await shop.release('v4'));
    expect((await load.stop()).failures).toEqual([]);
    await shop.close();
  });

  test('whose cluster was lost begins with what the ledger in Git calls good, and head is tried', async () => {
    const namespace = 'journey-ledger';
    await bed.createNamespace(namespace);
    const repo = await bed.createGitRepo(namespace);
    const place = { namespace, repo, source: { write: { ledger: true } } };
    const lost = openShopOn(bed, place, quick);
    await lost.release('v1');
    await lost.until('v1 initialized', ({ phase }) => phase === 'Initialized');
    const v2 = await lost.release('v2');
    await lost.until('v2 succeeded', ({ lastPromotedCommit, run }) => lastPromotedCommit === v2 && !run);
    const ledger = async () => repo.git('for-each-ref', 'refs/holdfast/');
    await waitFor(async () => (await ledger()).includes(v2), {
      timeoutMs: 120_000,
      what: 'the ledger holds v2',
      describe: ledger,
    });
    await lost.program.stop();
    const kinds = 'canaries,sources.holdfast.dev,deployments,services,secrets,configmaps';
    await bed.kubectl(['-n', namespace, 'delete', kinds, '--all']);
    const v3 = await lost.release('v3');

    const shop = openShopOn(bed, place, quick);

    await shop.until('it begins with v2', ({ lastPromotedCommit }) => lastPromotedCommit === v2);
    await shop.until('v3 succeeded', ({ lastPromotedCommit, run }) => lastPromotedCommit === v3 && !run);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v3');
    await shop.close();
  });

  test('who rotates the password of the Git server has the Source named, and gives it the new one', async () => {
    const namespace = 'journey-password';
    const source = { secretRef: { name: 'git' }, interval: '1s', retryInterval: '1s' };
    const shop = await shops.open(namespace, { ...quick, source });
    const rotate = (password: string) => shop.repo.configure({ username: 'holdfast', password });
    const store = (password: string) =>
      bed.apply(
        [
          {
            ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'git', namespace } },
            stringData: { username: 'holdfast', password },
          },
        ],
        namespace,
      );
    await rotate('first');
    await store('first');
    await shop.release('v1');
    await shop.until('v1 initialized', ({ phase }) => phase === 'Initialized');

    await rotate('second');
    const v2 = await shop.release('v2');
    const ready = async () => {
      const shown = await bed.readObject('Source', namespace, 'shop');
      const { conditions = [] } = (shown?.status ?? {}) as { conditions?: readonly Condition[] };
      return conditions.find(({ type }) => type === 'Ready');
    };
    await waitFor(async () => (await ready())?.status === 'False', {
      timeoutMs: 120_000,
      what: 'the Source says that it cannot be fetched',
      describe: ready,
    });
    expect((await ready())?.message).not.toContain('first');
    await store('second');

    await shop.until('v2 succeeded', ({ lastPromotedCommit, run }) => lastPromotedCommit === v2 && !run);
    expect((await ready())?.status).toBe('True');
    await shop.close();
  });
});
