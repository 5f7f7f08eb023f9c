/** The share of the users at each step, through the bed's Contour and Envoy. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { imageOf } from '../../objects.ts';
import { condition } from '../../shop.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { dividesByShares, stepsOf } from './shares.ts';
import { rate, type Shop, type ShopOptions, shareHoldfast, untilAnswered, untilRunning } from './shop.ts';

const bed: BedClient = useBed();
const shops = shareHoldfast(bed, ['shares-gateway', 'shares-contour']);

let hooks: HookServer;

beforeAll(async () => {
  hooks = await startHookServer();
});

afterAll(() => hooks.close());

const root = (namespace: string) => ({
  apiVersion: 'projectcontour.io/v1',
  kind: 'HTTPProxy',
  metadata: { name: 'root' },
  spec: { virtualhost: { fqdn: `${namespace}.example.com` }, includes: [{ name: 'podinfo', namespace }] },
});
const routers: ReadonlyArray<readonly [provider: string, namespace: string, options: ShopOptions]> = [
  ['gatewayapi:v1', 'shares-gateway', { provider: 'gatewayapi:v1' }],
  ['contour', 'shares-contour', { provider: 'contour', files: { root: root('shares-contour') } }],
];

/** v4 passes at each step, and does not come up as the primary. */
async function goesBackFromPrimary(shop: Shop): Promise<void> {
  await untilAnswered(shop.namespace, () => shop.startLoad(), ['v2']);
  const load = shop.startLoad();
  const commit = await shop.release('v4', { PRIMARY_READY: 'false' }, { primaryDeadlineSeconds: 10 });
  const ended = await shop.until(
    'v4 reverted',
    ({ lastAppliedCommit, phase, run }) => lastAppliedCommit === commit && phase === 'Failed' && !run,
  );
  const seen = await load.stop();
  expect(seen.failures).toEqual([]);
  expect(seen.byVersionAndRole['v4/canary']).toBeGreaterThan(0);
  expect(condition(ended, 'Reverted')).toBe('True');
  expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
}

describe.concurrent('through Contour', () => {
  test.each(routers)(
    '%s: users are divided as each step says, and a bad release goes back',
    async (provider, namespace, options) => {
      const analysis = stepsOf(hooks, namespace, rate);
      const shop = await untilRunning(await shops.open(namespace, { ...options, analysis }));
      await dividesByShares(bed, { shop, hooks, url: bed.envoyUrl });
      expect((await shop.workload('podinfo'))?.spec).toMatchObject({ replicas: 0 });
      // Through the Gateway API that is (c) of main-job.test.ts.
      if (provider === 'contour') await goesBackFromPrimary(shop);
      await shop.close();
    },
  );
});

test('the rights that install prints are enough for a release, and for one that is taken back', () => {
  const requests = bed.auditedRequests({ user: 'system:serviceaccount:shares-gateway:holdfast' });
  const refused = requests.filter(({ responseStatus }) => responseStatus?.code === 403);
  expect(requests.length).toBeGreaterThan(50);
  expect(refused.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([]);
});
