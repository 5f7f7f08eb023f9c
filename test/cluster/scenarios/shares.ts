import { expect } from 'vitest';
import type { HookServer } from '../../hook-server.ts';
import { imageOf } from '../../objects.ts';
import { type BedClient, waitFor } from '../bed/client.ts';
import type { LoadFailure } from '../bed/load.ts';
import { rate, type Shop, type ShopOptions } from './shop.ts';

/**
 * Requests that a share is measured with, and how many points it may be off. By chance alone two thousand are off by more than three once in two hundred
 * times; a thousand that are within two rule out as much, and mostly they are.
 */
const samples = [
  { answers: 1_000, points: 2 },
  { answers: 2_000, points: 3 },
];
const PER_SECOND = 500;
/** Weights of the canary. */
const steps = [10, 40, 70];

/** That of a Canary. */
export type Analysis = NonNullable<ShopOptions['analysis']>;
type Metric = NonNullable<Analysis['metrics']>[number];

/** As `rate`, of what the pods count: for data planes that are not measured. It needs `podsTemplate` in the repository. */
export const podsRate: Metric = { ...rate, name: 'success', templateRef: { name: 'success' } };

/** The template that `podsRate` names. */
export function podsTemplate(bed: BedClient) {
  const pods = 'kubernetes_namespace="{{ namespace }}", kubernetes_pod_name=~"{{ pods }}"';
  const count = (more: string) =>
    `sum(rate(http_request_duration_seconds_count{${pods}${more}}[{{ interval }}]))`;
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'MetricTemplate',
    metadata: { name: 'success' },
    spec: {
      provider: { type: 'prometheus', address: bed.prometheusUrl },
      query: `100 * (${count(', status!~"5.."')} or vector(0)) / ${count('')}`,
    },
  };
}

/** An analysis that stays at each step until `dividesByShares` has measured there. */
export function stepsOf(hooks: HookServer, name: string, metric: Metric): Analysis {
  hooks.answer(name, 403);
  const held = { name: 'held', type: 'confirm-traffic-increase' as const, url: hooks.url(name) };
  return { interval: '2s', threshold: 2, stepWeights: steps, metrics: [metric], webhooks: [held] };
}

/** An A/B test by header that waits for `reachesByHeader` before its promotion. */
export function insidersOf(hooks: HookServer, name: string, metric: Metric): Analysis {
  hooks.answer(name, 403);
  const gate = { name: 'gate', type: 'confirm-promotion' as const, url: hooks.url(name) };
  const match = [{ headers: { 'x-canary': { exact: 'insider' } } }];
  return { interval: '2s', threshold: 2, iterations: 2, match, metrics: [metric], webhooks: [gate] };
}

/** Releases v2 to a shop with the analysis of `insidersOf`: requests with the header reach its canary, others do not, and none fails. */
export async function reachesByHeader(shop: Shop, hooks: HookServer): Promise<void> {
  const insiders = shop.startLoad({ 'x-canary': 'insider' });
  const others = shop.startLoad();
  const commit = await shop.release('v2');
  await shop.until('waiting for promotion', ({ phase }) => phase === 'WaitingPromotion');
  const inside = await insiders.current();
  const outside = await others.current();
  hooks.answer(shop.namespace, 200);
  await shop.until('v2 succeeded', ({ lastPromotedCommit, run }) => lastPromotedCommit === commit && !run);
  const all = [await insiders.stop(), await others.stop()];
  expect(inside.byVersionAndRole['v2/canary']).toBeGreaterThan(0);
  expect(outside.byVersionAndRole['v2/canary'] ?? 0).toBe(0);
  expect(all.flatMap(({ failures }) => failures)).toEqual([]);
}

/**
 * Releases v2 to a shop that serves v1, with the analysis of `stepsOf`, and measures at each step by requests to the data plane which share of the users its canary
 * has; then v3, which answers with errors, and goes back. But for v3's share no request fails.
 */
export async function dividesByShares(
  bed: BedClient,
  {
    shop,
    hooks,
    url,
    primaryImage = async () => imageOf(await shop.workload('podinfo-primary')),
    ofRelease = (failures) => failures,
  }: {
    readonly shop: Shop;
    readonly hooks: HookServer;
    readonly url: string;
    /** Default: that of the copied workload. */
    readonly primaryImage?: () => Promise<string | undefined>;
    /** Leaves out failures that are the gateway's own. Default: none is. */
    readonly ofRelease?: (failures: readonly LoadFailure[]) => readonly LoadFailure[];
  },
): Promise<void> {
  const name = shop.namespace;
  /** Points by which the canary's share of the requests is off, once they are few enough or all have been sent. */
  const offBy = async (weight: number) => {
    const hostHeader = `${name}.example.com`;
    const load = bed.startLoad({ hostHeader, requestsPerSecond: PER_SECOND, envoyUrl: url });
    let off = Number.POSITIVE_INFINITY;
    for (const { answers, points } of samples) {
      const all = async () => (await load.current()).requests >= answers;
      await waitFor(all, { timeoutMs: 60_000, what: `${answers} answers to ${hostHeader}` });
      const { byVersion, requests } = await load.current();
      off = (100 * (byVersion.v2 ?? 0)) / requests - weight;
      if (Math.abs(off) <= points) break;
    }
    await load.stop();
    return off;
  };
  const load = shop.startLoad();
  const commit = await shop.release('v2');
  for (const weight of steps) {
    // Until it is there: what is let through may be asked again, when something else is in the way of that round.
    hooks.answer(name, ({ canaryWeight }) => (canaryWeight < weight ? 200 : 403));
    await shop.until(`the step of ${weight} %`, ({ canaryWeight }) => canaryWeight === weight);
    let off = 0;
    const look = async () => {
      off = await offBy(weight);
      return Math.abs(off) <= (samples.at(-1)?.points ?? 0);
    };
    const what = `${name}: the canary has ${weight} % of the requests, within three points`;
    await waitFor(look, { timeoutMs: 60_000, what, describe: async () => off });
  }
  hooks.answer(name, 200);
  await shop.until('v2 succeeded', ({ lastPromotedCommit, run }) => lastPromotedCommit === commit && !run);
  expect(ofRelease((await load.stop()).failures)).toEqual([]);

  const bad = shop.startLoad();
  await shop.release('v3', { ERROR_PERCENT: '100' });
  const ended = await shop.until('v3 failed', ({ phase, run }) => phase === 'Failed' && !run);
  const { failures, requests } = await bad.stop();
  expect(ended.rejected?.map(({ reason }) => reason)).toEqual(['AnalysisFailed']);
  expect(ofRelease(failures).filter(({ version }) => version !== 'v3')).toEqual([]);
  expect(failures.length).toBeGreaterThan(0);
  expect(failures.length / requests).toBeLessThan(0.2);
  expect(await primaryImage()).toBe('app:v2');
}
