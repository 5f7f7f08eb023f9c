import { expect, test } from 'vitest';
import type { CanaryStatus } from '../../src/api/canary-status.ts';
import { allCrds } from '../../src/api/crd.ts';
import { useBed } from '../cluster/bed/client.ts';
import { openShop, type ShopOptions } from '../cluster/scenarios/shop.ts';
import { report } from './measure.ts';

const bed = useBed();

test('from a bad commit to the last-known-good serving again, under 50 requests a second', async () => {
  await bed.apply(allCrds());
  await bed.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  const lines = [
    '| release | strategy | push to decision s | decision to last-known-good serving s | requests | failed |',
    '|---|---|--:|--:|--:|--:|',
  ];
  const deadline = { progressDeadlineSeconds: 10 };
  for (const type of ['RollingUpdate', 'Recreate']) {
    const strategy = { strategy: { type } };
    lines.push(await play(`unready-${type}`, { ...strategy, ...deadline }, { PRIMARY_READY: 'false' }));
    lines.push(await play(`errors-${type}`, strategy, { PRIMARY_ERROR_PERCENT: '50' }));
  }
  report('From a bad commit to the last-known-good serving again', lines);
  expect(lines.length).toBe(6);
});

/** One release that is good on the canary and bad on the primary; times by our own clock. */
async function play(name: string, options: ShopOptions, env: Record<string, string>): Promise<string> {
  const shop = await openShop(bed, name.toLowerCase(), options);
  await shop.release('v1');
  await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
  const load = shop.startLoad();
  await shop.release('v2', env);
  const pushed = performance.now();
  const at = async (what: string, holds: (status: CanaryStatus) => boolean) => {
    await shop.until(what, holds);
    return performance.now();
  };
  await at('rollout under way', (status) => status.phase === 'Progressing' && (status.canaryWeight ?? 0) > 0);
  const decided = await at('decision', (status) => status.postPromotion?.state === 'Reverting');
  const serving = await at('last-known-good serving', (status) => {
    const [first] = status.serving ?? [];
    return (
      first?.workload === 'podinfo-primary' &&
      first.weight === 100 &&
      first.digest === status.lastKnownGood?.digest
    );
  });
  await at('end', (status) => status.phase === 'Failed' && !status.run);
  const seen = await load.stop();
  await shop.close();
  const [kind, strategy] = name.split('-');
  const seconds = (ms: number) => (ms / 1000).toFixed(1);
  return `| ${kind} | ${strategy} | ${seconds(decided - pushed)} | ${seconds(serving - decided)} | ${seen.requests} | ${seen.failed} |`;
}
