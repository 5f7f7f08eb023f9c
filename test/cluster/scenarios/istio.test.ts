/** Provider `istio` with real requests through a gateway of Istio's control plane. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { type Istio, startIstio } from '../bed/istio.ts';
import { keepsSides, sessionsOf } from './sessions.ts';
import {
  type Analysis,
  dividesByShares,
  insidersOf,
  podsRate,
  podsTemplate,
  reachesByHeader,
  stepsOf,
} from './shares.ts';
import { shareHoldfast, untilRunning } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['by-istio', 'by-istio-header', 'by-istio-mirror', 'by-istio-session']);

let hooks: HookServer;
let istio: Istio;

beforeAll(async () => {
  hooks = await startHookServer();
  istio = await startIstio(bed);
}, 2_500_000);

afterAll(async () => {
  await istio.stop();
  await hooks.close();
});

const open = async (namespace: string, analysis: Analysis) =>
  untilRunning(
    await shops.open(namespace, {
      provider: 'istio',
      entryUrl: istio.url,
      analysis,
      postPromotion: { metrics: [podsRate] },
      spec: {
        service: {
          ...{ port: 80, targetPort: 'http' },
          hosts: [`${namespace}.example.com`],
          gateways: [istio.gateway],
        },
      },
      files: { template: podsTemplate(bed) },
    }),
  );

// Istio's own build of Envoy counts requests; this one does not, but the pods do.
describe.concurrent('through a gateway of Istio', () => {
  test('users are divided as each step says, and a bad release goes back', async () => {
    const shop = await open('by-istio', stepsOf(hooks, 'by-istio', podsRate));
    await dividesByShares(bed, { shop, hooks, url: istio.url });
    await shop.close();
  });

  test('only requests with the header reach an A/B canary', async () => {
    const shop = await open('by-istio-header', insidersOf(hooks, 'by-istio-header', podsRate));
    await reachesByHeader(shop, hooks);
    await shop.close();
  });

  test('a release that fails with copied requests is stopped before any user reaches it', async () => {
    const analysis = {
      ...{ interval: '2s', threshold: 2, stepWeights: [50], mirror: true },
      metrics: [podsRate],
    };
    const shop = await open('by-istio-mirror', analysis);
    const load = shop.startLoad();
    await shop.release('v2', { ERROR_PERCENT: '100' });
    const ended = await shop.until('v2 failed', ({ phase, run }) => phase === 'Failed' && !run);
    const commit = await shop.release('v3');
    await shop.until('v3 succeeded', ({ lastPromotedCommit, run }) => lastPromotedCommit === commit && !run);
    const seen = await load.stop();
    expect(ended.rejected?.map(({ reason }) => reason)).toEqual(['AnalysisFailed']);
    expect(seen.byVersion.v2 ?? 0).toBe(0);
    expect(seen.byVersion.v3).toBeGreaterThan(0);
    expect(seen.failures).toEqual([]);
    await shop.close();
  });

  test('users stay on the side that answered them first, and lose the cookie when the release has ended', async () => {
    const shop = await open('by-istio-session', sessionsOf(hooks, 'by-istio-session', podsRate));
    await keepsSides(shop, hooks, istio.url);
    await shop.close();
  });
});
