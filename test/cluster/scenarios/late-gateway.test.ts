/** A gateway whose controller stands still for a while: what is written is not what Envoy does, and no pod goes before it does. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { imageOf } from '../../objects.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { type OwnGateway, startOwnGateway } from '../bed/own-gateway.ts';
import { canaryShare, followObject, type ObjectTrail } from './object-trail.ts';
import { openShopOn, type Shop, type ShopOptions, untilRunning } from './shop.ts';

const bed: BedClient = useBed();
/** Longer than what the data plane is given after the gateway has answered. */
const STANDSTILL_MS = 4_000;

let hooks: HookServer;
beforeAll(async () => {
  hooks = await startHookServer();
});
afterAll(() => hooks.close());

interface Late {
  readonly shop: Shop;
  readonly gateway: OwnGateway;
  /** Images of the two templates, and the canary's share as it is written. */
  readonly target: ObjectTrail<string | undefined>;
  readonly share: ObjectTrail<number>;
  close(): Promise<void>;
}

/** v1 of an application with strategy Recreate behind a gateway of its own; a release waits at 50 % behind the gate `namespace`. */
async function openLate(namespace: string): Promise<Late> {
  await bed.createNamespace(namespace);
  const gateway = await startOwnGateway(bed, namespace);
  const gate = { name: 'gate', type: 'confirm-promotion' as const, url: hooks.url(namespace) };
  hooks.answer(namespace, 403);
  const analysis = {
    ...{ interval: '15s', threshold: 2, stepWeights: [50], stepWeightPromotion: 50 },
    ...{ metrics: [], webhooks: [gate] },
  };
  const options: ShopOptions = {
    gateway,
    strategy: { type: 'Recreate' },
    progressDeadlineSeconds: 120,
    // Nothing hides a pod that goes too early.
    env: { SHUTDOWN_DELAY_MS: '0' },
    postPromotion: { interval: '1s', metrics: [] },
    analysis,
  };
  const shop = openShopOn(bed, { namespace, repo: await bed.createGitRepo(namespace) }, options);
  await untilRunning(shop);
  const target = followObject(bed, { kind: 'Deployment', namespace, name: 'podinfo' }, imageOf);
  const share = followObject(bed, { kind: 'HTTPRoute', namespace, name: 'podinfo' }, canaryShare);
  return {
    ...{ shop, gateway, target, share },
    close: async () => {
      for (const trail of [target, share]) trail.close();
      await shop.close();
      await gateway.close();
    },
  };
}

const isTold = ({ message = '', conditions = [] }: CanaryStatus) =>
  [message, ...conditions.map((one) => one.message ?? '')].some((text) =>
    /has not observed generation/.test(text),
  );

/** Until people are told of the gateway, and some time after that; or until something went on without it. */
async function untilTold(shop: Shop, wentOn: () => boolean): Promise<void> {
  await shop.until('told that the gateway has not answered', (status) => isTold(status) || wentOn(), 60_000);
  await new Promise((resolve) => setTimeout(resolve, STANDSTILL_MS));
}

const isAtTheGate = ({ phase }: CanaryStatus) => phase === 'WaitingPromotion';

test('no pod goes before Envoy does what is written while the controller of its gateway stands still', async () => {
  const { shop, gateway, target, share, close } = await openLate('late-gateway');
  const load = shop.startLoad();
  const commit = await shop.release('v2');
  await shop.until('v2 at the gate', isAtTheGate);
  hooks.answer('late-gateway', 200);

  // On the way down: nothing is verified, and no pod goes, while Envoy sends half to the canary (issue 11, 17).
  await share.until('all traffic is for the canary', (percent) => percent === 100);
  await share.until('half of the traffic is for the primary', (percent) => percent === 50);
  // The gateway has the endpoints of the new pods before it stands still: it takes routes and endpoints over in any order.
  await new Promise((resolve) => setTimeout(resolve, STANDSTILL_MS));
  gateway.pause();
  await share.until('all traffic is for the primary', (percent) => percent === 0);
  const isVerified = ({ postPromotion, phase }: CanaryStatus) =>
    postPromotion?.state === 'Verifying' || phase === 'Succeeded';
  await shop.until('told, or verifying', (status) => isTold(status) || isVerified(status), 60_000);
  await new Promise((resolve) => setTimeout(resolve, STANDSTILL_MS));
  const { postPromotion } = await shop.status();
  gateway.resume();
  await shop.until('v2 succeeded', (status) => status.lastPromotedCommit === commit && !status.run);

  // A target with strategy Recreate keeps its pods until Envoy sends them nothing, then gets the newer revision (issue 11, 18).
  hooks.answer('late-gateway', 403);
  await shop.release('v3');
  await shop.until('v3 at the gate', isAtTheGate);
  await share.until('half of the traffic is for v3', (percent) => percent === 50);
  gateway.pause();
  const newest = await shop.release('v4');
  await share.until('no traffic is for v3', (percent) => percent === 0);
  await untilTold(shop, () => target.values.at(-1) !== 'app:v3').finally(gateway.resume);
  const image = target.values.at(-1);
  hooks.answer('late-gateway', 200);
  await shop.until('v4 succeeded', (status) => status.lastPromotedCommit === newest && !status.run);

  const { failed } = await load.stop();
  expect({ state: postPromotion?.state, image, failed }).toEqual({
    state: 'Converging',
    image: 'app:v3',
    failed: 0,
  });
  await close();
});
