import { expect, test } from 'vitest';
import { allCrds } from '../../src/api/kinds/crd.ts';
import { useBed, waitFor } from '../cluster/bed/client.ts';
import { openRunningShop, type Shop, type ShopOptions } from '../cluster/scenarios/shop.ts';
import { imageOf } from '../objects.ts';
import { report } from './measure.ts';

const bed = useBed();

const unready = { PRIMARY_READY: 'false' };
const errors = { PRIMARY_ERROR_PERCENT: '50' };
const quick = { progressDeadlineSeconds: 10 };

interface Case {
  readonly release: 'unready' | 'errors';
  readonly workload: string;
  readonly options: ShopOptions;
}

const cases: readonly Case[] = [
  ...['RollingUpdate', 'Recreate'].flatMap((type): Case[] => [
    {
      release: 'unready',
      workload: `Deployment, ${type}`,
      options: { strategy: { type }, ...quick },
    },
    { release: 'errors', workload: `Deployment, ${type}`, options: { strategy: { type } } },
  ]),
  { release: 'unready', workload: 'DaemonSet', options: { targetKind: 'DaemonSet', ...quick } },
  { release: 'errors', workload: 'DaemonSet', options: { targetKind: 'DaemonSet' } },
];

test('from a bad commit to the last-known-good serving again, under 50 requests a second', async () => {
  await bed.apply(allCrds());
  await bed.kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  const lines = [
    '| release | workload | push to decision s | decision to template applied s | decision to last-known-good serving s | requests | failed |',
    '|---|---|--:|--:|--:|--:|--:|',
  ];
  for (const [index, one] of cases.entries()) lines.push(await play(`revert-${index}`, one));
  report('From a bad commit to the last-known-good serving again', lines);
  expect(lines.length).toBe(2 + cases.length);
});

/**
 * One release that is good on the canary and bad on the primary. The decision is timed by the program (the look that decided), everything
 * else by when it was seen from outside, every 50 ms.
 */
async function play(namespace: string, { release, workload, options }: Case): Promise<string> {
  const shop = await openRunningShop(bed, namespace, options);
  const load = shop.startLoad();
  await shop.release('v2', release === 'unready' ? unready : errors);
  const pushedMs = Date.now();
  await untilPrimaryRuns(shop, 'app:v2');
  const applied = untilPrimaryRuns(shop, 'app:v1');
  const decided = await shop.until('decision', ({ postPromotion }) => postPromotion?.state === 'Reverting');
  const decidedMs = Date.parse(decided.postPromotion?.startTime ?? '');
  const appliedMs = await applied;
  await shop.until('last-known-good serving', ({ serving = [], lastKnownGood }) => {
    const [first] = serving;
    return (
      first?.workload === 'podinfo-primary' && first.weight === 100 && first.digest === lastKnownGood?.digest
    );
  });
  const servingMs = Date.now();
  await shop.until('end', ({ phase, run }) => phase === 'Failed' && !run);
  const seen = await load.stop();
  await shop.close();
  const spans = [decidedMs - pushedMs, appliedMs - decidedMs, servingMs - decidedMs];
  const seconds = spans.map((ms) => (ms / 1000).toFixed(1)).join(' | ');
  return `| ${release} | ${workload} | ${seconds} | ${seen.requests} | ${seen.failed} |`;
}

/** The moment at which the primary's template names this image. */
function untilPrimaryRuns(shop: Shop, image: string): Promise<number> {
  const look = async () => imageOf(await shop.workload('podinfo-primary')) === image && Date.now();
  return waitFor(look, {
    timeoutMs: 120_000,
    intervalMs: 50,
    what: `${shop.namespace}: the primary runs ${image}`,
  });
}
