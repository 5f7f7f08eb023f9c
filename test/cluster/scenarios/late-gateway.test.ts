/** A gateway whose controller stands still for a while: what is written is not what Envoy does, and no pod goes before it does. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { type HookServer, startHookServer } from '../../hook-server.ts';
import { type BedClient, useBed } from '../bed/client.ts';
import { type OwnGateway, startOwnGateway } from '../bed/own-gateway.ts';
import { canaryShare, followObject, type ObjectTrail } from './object-trail.ts';
import { imageOf, openShopOn, type Shop, type ShopOptions, untilRunning } from './shop.ts';

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
async function openLate(namespace: string, more: ShopOptions = {}): Promise<Late> {
  await bed.createNamespace(namespace);
  const gateway = await startOwnGateway(bed, namespace);
  const gate = { name: 'gate', type: 'confirm-promotion' as const, url: hooks.url(namespace) };
  hooks.answer(namespace, 403);
  const analysis = { interval: '2s', threshold: 2, stepWeights: [50], metrics: [], webhooks: [gate] };
  const options: ShopOptions = {
    gateway,
    strategy: { type: 'Recreate' },
    progressDeadlineSeconds: 120,
    // Nothing hides a pod that goes too early.
    env: { SHUTDOWN_DELAY_MS: '0' },
    postPromotion: { interval: '1s', metrics: [] },
    ...more,
    analysis: { ...analysis, ...more.analysis },
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

describe.concurrent('the controller of the gateway stands still', () => {
  test('on the way down: nothing is verified, and no pod goes, while Envoy sends half to the canary (issue 11, 17)', async () => {
    const analysis = { interval: '15s', stepWeightPromotion: 50 };
    const { shop, gateway, share, close } = await openLate('late-down', { analysis });
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('v2 at the gate', isAtTheGate);
    hooks.answer('late-down', 200);
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
    const meanwhile = await shop.status();
    gateway.resume();
    await shop.until('v2 succeeded', (status) => status.lastPromotedCommit === commit && !status.run);
    const { failed } = await load.stop();
    expect({ state: meanwhile.postPromotion?.state, failed }).toEqual({ state: 'Converging', failed: 0 });
    await close();
  });

  test('a target with strategy Recreate keeps its pods until Envoy sends them nothing, then gets the newer revision (issue 11, 18)', async () => {
    const { shop, gateway, target, share, close } = await openLate('late-newer');
    const load = shop.startLoad();
    await shop.release('v2');
    await shop.until('v2 at the gate', isAtTheGate);
    gateway.pause();
    const newest = await shop.release('v3');
    await share.until('no traffic is for v2', (percent) => percent === 0);
    await untilTold(shop, () => target.values.at(-1) !== 'app:v2').finally(gateway.resume);
    const meanwhile = target.values.at(-1);
    hooks.answer('late-newer', 200);
    await shop.until('v3 succeeded', (status) => status.lastPromotedCommit === newest && !status.run);
    const { failed } = await load.stop();
    expect({ meanwhile, failed }).toEqual({ meanwhile: 'app:v2', failed: 0 });
    await close();
  });
});
