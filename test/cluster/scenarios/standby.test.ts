import { describe, expect, test } from 'vitest';
import { imageOf } from '../../objects.ts';
import { type BedClient, useBed, waitFor } from '../bed/client.ts';
import { createProgram, type Program } from './program.ts';
import { openShopOn, type Shop } from './shop.ts';

const bed: BedClient = useBed();

/** What a Lease says. */
interface LeaseSpec {
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  readonly leaseTransitions: number;
  readonly acquireTime: string;
  readonly renewTime: string;
}

/** An application whose Holdfast has a standby; each of the two is known to the cluster by a pod of its own. */
interface Pair {
  readonly shop: Shop;
  readonly standby: Program;
  /** While the first one holds it, and the standby has seen it renewed. */
  readonly before: LeaseSpec;
  /** The Lease as soon as the standby holds it. */
  takenOver(): Promise<LeaseSpec>;
  close(): Promise<void>;
}

const leaderPod = 'holdfast-leader';
const standbyPod = 'holdfast-standby';
const nextPod = 'holdfast-next';

async function lease(namespace: string): Promise<LeaseSpec | undefined> {
  const object = await bed.readObject('Lease', namespace, 'holdfast');
  return object?.spec as LeaseSpec | undefined;
}

/** The program runs beside the pod, which has no process of its own: only what the API server says of it counts. */
async function podFor(namespace: string, name: string): Promise<Record<string, string>> {
  const containers = [{ name: 'holdfast', image: 'fake/holdfast:1' }];
  await bed.apply([{ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers } }], namespace);
  const pod = await waitFor(
    async () => {
      const seen = await bed.readObject('Pod', namespace, name);
      return (seen?.status as { phase?: string } | undefined)?.phase === 'Running' ? seen : undefined;
    },
    { timeoutMs: 60_000, what: `${namespace}/${name} runs` },
  );
  return { POD_NAME: name, POD_UID: pod.metadata.uid ?? '' };
}

function untilHeldBy(namespace: string, pod: string, renewedAfter = ''): Promise<LeaseSpec> {
  return waitFor(
    async () => {
      const seen = await lease(namespace);
      return seen?.holderIdentity.startsWith(`${pod}_`) && seen.renewTime > renewedAfter ? seen : undefined;
    },
    { timeoutMs: 120_000, intervalMs: 100, what: `${pod} holds the Lease`, describe: () => lease(namespace) },
  );
}

/** The Lease of a pod that holds it, once a standby that has just been started has seen it renewed. */
async function untilRenewed(namespace: string, pod: string): Promise<LeaseSpec> {
  let seen = await untilHeldBy(namespace, pod);
  for (let renewals = 0; renewals < 6; renewals += 1)
    seen = await untilHeldBy(namespace, pod, seen.renewTime);
  return seen;
}

async function openPair(namespace: string): Promise<Pair> {
  await bed.createNamespace(namespace);
  const repo = await bed.createGitRepo(namespace);
  const programEnv = await podFor(namespace, leaderPod);
  const shop = openShopOn(bed, { namespace, repo }, { programEnv });
  await shop.release('v1');
  await shop.until('v1 initialized', (status) => status.phase === 'Initialized');
  const standby = createProgram(bed, namespace, repo.url, {}, await podFor(namespace, standbyPod));
  standby.start();
  return {
    shop,
    standby,
    before: await untilRenewed(namespace, leaderPod),
    takenOver: () => untilHeldBy(namespace, standbyPod),
    async close() {
      await standby.stop();
      await shop.close();
    },
  };
}

/** When the time is over that a holder had asked for. */
const ranOutMs = ({ renewTime, leaseDurationSeconds }: LeaseSpec) =>
  Date.parse(renewTime) + leaseDurationSeconds * 1000;

/** Everybody on the bed has one clock: the new holder began before the time was over that the last one had asked for. */
function expectNoWait(before: LeaseSpec, after: LeaseSpec): void {
  expect(after.leaseTransitions).toBe(before.leaseTransitions + 1);
  expect(Date.parse(after.acquireTime)).toBeLessThan(ranOutMs(before));
}

const removePod = (namespace: string) =>
  bed.kubectl(['-n', namespace, 'delete', 'pod', leaderPod, '--wait=false']);

/** L1, S20: whoever leads next carries on, without waiting for the Lease where nobody can hold it any more. */
describe.concurrent('a standby takes over', () => {
  test('when the one that leads is killed in the middle of a rollout, and its pod with it', async () => {
    const namespace = 'standby-killed';
    const { shop, before, takenOver, close } = await openPair(namespace);
    const load = shop.startLoad();
    const commit = await shop.release('v2');
    await shop.until('v2 is tried', (status) => status.phase === 'Progressing' && status.canaryWeight === 10);
    const last = (await lease(namespace)) ?? before;
    await shop.program.kill();
    await removePod(namespace);
    expectNoWait(last, await takenOver());
    await shop.until('v2 succeeded', (status) => status.lastPromotedCommit === commit && !status.run);
    expect((await load.stop()).failures).toEqual([]);
    expect(imageOf(await shop.workload('podinfo-primary'))).toBe('app:v2');
    await close();
  });

  test('and puts a deleted primary back, of which the one that led did not hear any more; the next one only when the Lease has run out, while the pod of a dead one is said to run', async () => {
    const namespace = 'standby-primary';
    const { shop, standby, before, takenOver, close } = await openPair(namespace);
    const uid = (await shop.workload('podinfo-primary'))?.metadata.uid;
    await shop.program.kill();
    await bed.kubectl(['-n', namespace, 'delete', 'deployment', 'podinfo-primary', '--wait=false']);
    await removePod(namespace);
    expectNoWait(before, await takenOver());
    await waitFor(
      async () => {
        const primary = await shop.workload('podinfo-primary');
        return primary !== undefined && primary.metadata.uid !== uid;
      },
      { timeoutMs: 120_000, what: 'the primary is back' },
    );

    const next = createProgram(bed, namespace, undefined, {}, await podFor(namespace, nextPod));
    next.start();
    const last = await untilRenewed(namespace, standbyPod);
    await standby.kill();
    const after = await untilHeldBy(namespace, nextPod);
    expect(after.leaseTransitions).toBe(last.leaseTransitions + 1);
    expect(Date.parse(after.acquireTime)).toBeGreaterThanOrEqual(ranOutMs(last));
    await next.stop();
    await close();
  });
});
