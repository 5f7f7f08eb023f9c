import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { imageOf } from '../../objects.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import type { GitClone } from '../bed/git-repo.ts';
import { type Gitea, startGitea } from '../bed/gitea.ts';
import { openShopOn, type Shop, type ShopOptions, untilRunning } from './shop.ts';

/** Reverts, statuses and webhooks end to end with a real forge (issue 4). */

const bed: BedClient = useBed();
const WEBHOOK_SECRET = 'knock-knock';
/** Reverts at once: what holds is seen in main-job.test.ts. */
const options: ShopOptions = { primaryDeadlineSeconds: 10, postPromotion: { onFailure: 'revert' } };

let gitea: Gitea;
let bot: { readonly name: string; readonly token: string };

beforeAll(async () => {
  gitea = await startGitea(bed.giteaFolder, bed.logsDir);
  bot = await gitea.createUser('holdfast-bot');
}, 2_500_000);

afterAll(async () => gitea?.stop());

interface Pull {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly state: string;
  readonly draft: boolean;
  readonly html_url: string;
  readonly head: { readonly ref: string };
}

const pullsOf = (name: string) => gitea.api<Pull[]>('GET', `/repos/acme/${name}/pulls?state=all`);

/** A program that follows a repository of the forge and writes to it as a user of its own. */
async function openAt(name: string, source: Readonly<Record<string, unknown>>): Promise<Shop<GitClone>> {
  const url = await gitea.createRepository(name, [bot.name]);
  await bed.createNamespace(name);
  const stringData = { username: bot.name, password: bot.token, webhookSecret: WEBHOOK_SECRET };
  await bed.apply(
    [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'forge', namespace: name }, stringData }],
    name,
  );
  const place = {
    namespace: name,
    repo: await gitea.clone(url),
    source: { secretRef: { name: 'forge' }, ...source },
  };
  return openShopOn(bed, place, options);
}

async function addWebhook(shop: Shop<GitClone>): Promise<void> {
  const url = `${await shop.program.url()}/hooks/${shop.namespace}/shop`;
  const config = { url, content_type: 'json', secret: WEBHOOK_SECRET };
  const hook = { type: 'gitea', active: true, events: ['push'], config };
  await gitea.api('POST', `/repos/acme/${shop.namespace}/hooks`, hook);
}

/** State of the Canary's status on a commit, as Gitea shows it. */
async function statusOn(name: string, commit: string): Promise<string | undefined> {
  const place = `/repos/acme/${name}/commits/${commit}/status`;
  const { statuses } = await gitea.api<{ statuses: Array<{ context: string; status: string }> | null }>(
    'GET',
    place,
  );
  return statuses?.find(({ context }) => context === `holdfast/default/${name}/podinfo`)?.status;
}

async function untilStatus(name: string, commit: string, state: string): Promise<void> {
  await waitFor(async () => (await statusOn(name, commit)) === state, {
    timeoutMs: 120_000,
    what: `commit status ${state} on ${commit.slice(0, 7)}`,
    describe: () => statusOn(name, commit),
  });
}

/** Name and restarts of each primary pod. */
async function primaryPods(namespace: string): Promise<string[]> {
  const pods = await bed.listObjects('Pod', namespace);
  return pods
    .filter(({ metadata }) => metadata.name.startsWith('podinfo-primary-') && !metadata.deletionTimestamp)
    .map(({ metadata, status }) => {
      const { containerStatuses = [] } = (status ?? {}) as {
        containerStatuses?: Array<{ restartCount: number }>;
      };
      return `${metadata.uid} ${containerStatuses.map(({ restartCount }) => restartCount)}`;
    })
    .sort();
}

describe.concurrent('with a real Gitea', () => {
  test('a bad merge is reverted in the cluster, then by a pull request whose merge restarts no pod', async () => {
    const name = 'gitea-request';
    // Without the webhook nothing would be seen for an hour.
    const source = { interval: '1h', retryInterval: '2s', write: { revert: 'pullRequest', status: true } };
    const shop = await openAt(name, source);
    await addWebhook(shop);
    await untilRunning(shop);
    const good = await shop.repo.git('rev-parse', 'HEAD');
    await untilStatus(name, good, 'success');
    const load = shop.startLoad();

    const bad = await shop.release('v2', { PRIMARY_READY: 'false' });
    const reverted = await shop.until('v2 reverted', ({ phase, run }) => phase === 'Failed' && !run);
    expect(reverted.lastAppliedCommit).toBe(bad);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    const [request] = await waitFor(
      async () => {
        const pulls = await pullsOf(name);
        return pulls.length > 0 && pulls;
      },
      { timeoutMs: 120_000, what: 'the pull request', describe: () => shop.status() },
    );
    expect(request).toMatchObject({
      state: 'open',
      draft: false,
      title: `Revert "Release v2" for ${name}/podinfo`,
    });
    expect(request?.body).toContain(bad);
    expect(request?.body).toContain(reverted.rejected?.[0]?.reason);
    expect(request?.body).toMatch(/readiness probe has not passed/);
    // The very news that people were told.
    const [news] = reverted.incidents ?? [];
    expect(news).toMatchObject({ outcome: 'Reverted', commit: bad });
    expect(request?.body).toContain(`**Canary:** ${news?.onCanary}`);
    expect(request?.body).toMatch(/\*\*Serving:\*\* podinfo.* 100 %, \d pods ready/);
    await untilStatus(name, bad, 'failure');

    const pods = await primaryPods(name);
    await gitea.api('POST', `/repos/acme/${name}/pulls/${request?.number}/merge`, { Do: 'merge' });
    await shop.repo.git('pull', '--quiet', 'origin', 'main');
    const merge = await shop.repo.git('rev-parse', 'HEAD');
    const ended = await shop.until(
      'the revert in Git is known',
      (status) => status.lastAppliedCommit === merge,
    );
    await shop.until('Succeeded', (status) => status.phase === 'Succeeded');
    await untilStatus(name, merge, 'success');
    expect(ended.lastKnownGood?.digest).toBe(reverted.lastKnownGood?.digest);
    expect(await primaryPods(name)).toEqual(pods);
    expect(await shop.repo.git('diff', '--stat', good, merge)).toBe('');
    expect((await pullsOf(name)).length).toBe(1);
    expect((await load.stop()).failures).toEqual([]);
    await shop.close();
  });

  test('a protected branch refuses a revert commit: told after three tries, and the cluster’s revert stands', async () => {
    const name = 'gitea-protected';
    const shop = await openAt(name, { interval: '1s', write: { revert: 'commit' } });
    await untilRunning(shop);
    await gitea.api('POST', `/repos/acme/${name}/branch_protections`, {
      rule_name: 'main',
      enable_push: true,
      enable_push_whitelist: true,
      push_whitelist_usernames: ['keeper'],
    });
    const load = shop.startLoad();
    const bad = await shop.release('v2', { PRIMARY_READY: 'false' });
    const refused = await shop.until('the refusal is told', ({ conditions, run }) =>
      Boolean(!run && conditions?.some(({ reason }) => reason === 'GitRefused')),
    );
    const told = refused.conditions?.find(({ reason }) => reason === 'GitRefused');
    expect(told).toMatchObject({ type: 'WrittenToGit', status: 'False' });
    expect(told?.message).toMatch(/tried 3 times/);
    expect(told?.message).not.toContain(bot.token);
    expect(refused.phase).toBe('Failed');
    expect(refused.lastAppliedCommit).toBe(bad);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
    const head = await gitea.api<{ commit: { id: string } }>('GET', `/repos/acme/${name}/branches/main`);
    expect(head.commit.id).toBe(bad);
    expect(await pullsOf(name)).toEqual([]);
    expect((await load.stop()).failures).toEqual([]);
    await shop.close();
  });
});
