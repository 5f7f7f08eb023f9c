/** What people do with Holdfast that no other suite of the bed does (docs/journeys.md). */
import { describe, expect, test } from 'vitest';
import type { Condition } from '../../../src/api/kubernetes.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { runJson } from './command.ts';
import { imageOf, openShop, openShopOn, type ShopOptions, untilRunning } from './shop.ts';

const bed: BedClient = useBed();
/** Releases are over as soon as their pods are ready. */
const quick: ShopOptions = {
  ...{ provider: 'kubernetes', spec: { skipAnalysis: true }, postPromotion: { metrics: [] } },
};

describe.concurrent('a person', () => {
  test('lets a release through by a command, and goes back by another without Git; the next commit gets through', async () => {
    const namespace = 'journey-rollback';
    const webhooks: Array<{ name: string; type: 'confirm-rollout'; url: string }> = [];
    const shop = await openShop(bed, namespace, {
      analysis: { interval: '2s', threshold: 2, stepWeight: 50, webhooks },
      postPromotion: { metrics: [] },
    });
    webhooks.push({ name: 'gate', type: 'confirm-rollout', url: `${await shop.program.url()}/gate/check` });
    await untilRunning(shop);
    const load = shop.startLoad();
    const command = (...words: readonly string[]) =>
      runJson(bed, ...words, 'canary/podinfo', '-n', namespace);
    const v2 = await shop.release('v2');
    await shop.until('v2 waits', ({ phase, run }) => phase === 'Waiting' && run?.commit === v2);

    await command('gate', 'open');
    await shop.until('v2 succeeded', ({ lastPromotedCommit, run }) => lastPromotedCommit === v2 && !run);
    await command('rollback', '--yes', '--wait');

    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    expect((await shop.status()).rejected?.map(({ commit }) => commit)).toEqual([v2]);
    const v3 = await shop.release('v3');
    await shop.until('v3 succeeded', ({ lastPromotedCommit, run }) => lastPromotedCommit === v3 && !run);
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
    const ledger = async () => repo.git('ls-remote', 'origin', 'refs/holdfast/*');
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
    await bed.createNamespace(namespace);
    const repo = await bed.createGitRepo(namespace);
    const rotate = (password: string) => repo.configure({ username: 'holdfast', password });
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
    const source = { secretRef: { name: 'git' }, retryInterval: '1s' };
    const shop = openShopOn(bed, { namespace, repo, source }, quick);
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
