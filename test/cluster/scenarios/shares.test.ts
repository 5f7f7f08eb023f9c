/** The share of the users at each step, through the bed's Contour and Envoy. */
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { dividesByShares, stepsOf } from './shares.ts';
import { rate, type ShopOptions, shareHoldfast, untilRunning } from './shop.ts';

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

describe.concurrent('through Contour', () => {
  test.each(routers)(
    '%s: users are divided as each step says, and a bad release goes back',
    async (_, namespace, options) => {
      const analysis = stepsOf(hooks, namespace, rate);
      const shop = await untilRunning(await shops.open(namespace, { ...options, analysis }));
      await dividesByShares(bed, { shop, hooks, url: bed.envoyUrl });
      await shop.close();
    },
  );
});
