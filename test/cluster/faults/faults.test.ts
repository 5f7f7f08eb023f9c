/** Releases under load while something is wrong with what Holdfast needs: they end as undisturbed, and no user notices (docs/reliability.md). */
import { describe, expect, test } from 'vitest';
import { imageOf, replicasOf } from '../../objects.ts';
import { condition } from '../../shop.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { rate, type ShopOptions } from '../scenarios/shop.ts';
import { all, disturb, type FaultCase, restartedApiServer, short } from './cases.ts';
import { type FaultyShop, openFaultyShop } from './faulty-shop.ts';

const bed: BedClient = useBed();
const isWhole = process.env.HOLDFAST_FAULTS === 'all';
const cases = isWhole ? all : short;
const steps = [0, 10, 40, 70, 100];

async function play(
  { short: name, ...one }: FaultCase,
  story: { readonly of: string; readonly options?: ShopOptions; readonly env?: Record<string, string> },
  isOver: (shop: FaultyShop, commit: string) => Promise<unknown>,
): Promise<{ readonly shop: FaultyShop; readonly beganMs: number }> {
  // More checks may fail than while metrics are away: two would be the end of any release.
  const analysis = {
    ...{ interval: one.interval ?? '2s', threshold: 30 },
    ...{ stepWeights: [10, 40, 70], metrics: [rate] },
  };
  const options = { analysis, ...one.machine, ...story.options };
  const shop = await openFaultyShop(bed, `faults-${story.of}-${name}`, options);
  const load = shop.startLoad();
  const beganMs = Date.now();
  let commit = '';
  const restarts = shop.machines.map((machine) => machine.program.restarts());
  const disturbed = disturb(shop, { short: name, ...one }, async () => {
    commit = await shop.release('v2', story.env);
  });
  await disturbed;
  await isOver(shop, commit);
  expect((await load.stop()).failures).toEqual([]);
  // Checks of a share were made before it rose, each step once (S4).
  const weights = shop.statuses
    .filter(({ phase }) => phase === 'Progressing')
    .map(({ canaryWeight = 0 }) => canaryWeight);
  expect(weights.every((weight) => steps.includes(weight))).toBe(true);
  expect(weights.every((weight, index) => index === 0 || weight >= (weights[index - 1] ?? 0))).toBe(true);
  if (one.keepsRunning) expect(shop.machines.map((machine) => machine.program.restarts())).toEqual(restarts);
  return { shop, beganMs };
}

/** At most one of two writes: the first one did nothing any more once the second one had begun (S20). */
function expectOneWriter({ machines }: FaultyShop, beganMs: number): void {
  const [first = [], second = []] = machines.map(({ api }) =>
    api.passed
      .filter(
        ({ atMs, method, path }) => atMs > beganMs && method !== 'GET' && /canaries|deployments/.test(path),
      )
      .map(({ atMs }) => atMs),
  );
  expect(second.length).toBeGreaterThan(0);
  expect(Math.max(0, ...first.filter((atMs) => atMs < (second.at(-1) ?? 0)))).toBeLessThan(second[0] ?? 0);
}

async function playGood(one: FaultCase): Promise<void> {
  const { shop, beganMs } = await play(one, { of: 'good' }, (seen, commit) =>
    seen.until('v2 succeeded', ({ lastPromotedCommit, run }) => lastPromotedCommit === commit && !run),
  );
  const status = await shop.status();
  expect(status).toMatchObject({ phase: 'Succeeded', canaryWeight: 0 });
  expect(status.rejected ?? []).toEqual([]);
  expect(status.history?.map(({ result }) => result)).toEqual(['Succeeded']);
  expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
  expect(replicasOf(await shop.workload('podinfo'))).toBe(0);
  if (shop.machines.length > 1) expectOneWriter(shop, beganMs);
  await shop.close();
}

describe.concurrent('a good release is promoted, and no request fails', () => {
  test.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => playGood(one));
});

if (isWhole)
  describe.concurrent('a release whose primary never becomes ready goes back, and no request fails', () => {
    test.each(all.map((one) => [one.name, one] as const))('%s', async (_, one) => {
      const bad = { of: 'bad', env: { PRIMARY_READY: 'false' }, options: { primaryDeadlineSeconds: 10 } };
      const { shop } = await play(one, bad, (seen) =>
        seen.until('v2 reverted', ({ phase, run }) => phase === 'Failed' && !run),
      );
      const status = await shop.status();
      expect(condition(status, 'Reverted')).toBe('True');
      expect(status.rejected?.length).toBe(1);
      expect(status.history?.map(({ result }) => result)).toEqual(['Failed']);
      expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v1');
      await shop.close();
    });
  });

if (isWhole)
  test('a good release is promoted, and no request fails, although the API server is killed and started again', () =>
    playGood(restartedApiServer(bed.pids['kube-apiserver'] ?? 0)));
