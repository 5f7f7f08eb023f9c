import { afterEach, describe, expect, it } from 'vitest';
import { createCaches } from '../caches/caches.ts';
import { createClusterClient } from '../client/client.ts';
import { createDiscovery } from '../client/discovery.ts';
import { type LeaseServer, startLeaseServer } from '../testing/lease-server.ts';
import { createManualClock, eventually, type ManualClock } from '../testing/manual-clock.ts';
import { accessTo, answer, failure } from '../testing/scripted-server.ts';
import { createTransport } from '../transport/transport.ts';
import { createLeaseClock, type Election, type ElectionOptions, startElection } from './election.ts';
import { microTime } from './lease-record.ts';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface World extends LeaseServer {
  readonly clock: ManualClock;
  /** With a pod: the process says that it runs in it. `monotonicMs` is the process's own clock. */
  candidate(
    identity: string,
    more?: Partial<Pick<ElectionOptions, 'monotonicMs' | 'pod' | 'former'>>,
  ): Election;
  /** Lets pauses pass until the condition holds. */
  pass(milliseconds: number, condition?: () => boolean): Promise<void>;
}

/** A server that knows one Lease and pods, and candidates on a clock of the test's own, each with its own connection. */
async function startWorld(): Promise<World> {
  const clock = createManualClock();
  const server = await startLeaseServer();
  cleanups.push(() => server.close());
  return {
    ...server,
    clock,
    candidate(identity, { monotonicMs = () => clock.elapsedMs(), pod, former = [] } = {}) {
      const access = accessTo(server.http.url);
      const transport = createTransport({ access, userAgent: identity, random: () => 0 });
      const discovery = createDiscovery(transport);
      const tuning = { backoff: { firstMs: 500, maximumMs: 500 } };
      const caches = createCaches({ transport, discovery, clock, random: () => 0.5, tuning });
      const client = createClusterClient({ transport, discovery });
      const names = { namespace: 'delivery', name: 'holdfast', identity, pod, former, manager: 'holdfast' };
      const election = startElection({ ...names, client, caches, clock, monotonicMs, random: () => 0.5 });
      cleanups.push(async () => {
        server.fault(undefined);
        await election.stop();
        await caches.stop();
        await transport.close();
      });
      return election;
    },
    async pass(milliseconds, condition = () => false) {
      for (let passed = 0; passed < milliseconds && !condition(); passed += 500) {
        clock.advance(500);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
  };
}

async function winner(world: World, election: Election): Promise<AbortSignal> {
  await eventually(() => election.leading(), 'elected');
  expect(world.lease()?.holderIdentity).toBeDefined();
  return election.elected();
}

describe('leader election', () => {
  it('takes a free Lease and renews it', async () => {
    const world = await startWorld();
    const signal = await winner(world, world.candidate('one'));
    const first = world.lease();
    expect(first).toMatchObject({ holderIdentity: 'one', leaseDurationSeconds: 15, leaseTransitions: 0 });
    await world.pass(60_000);
    expect(signal.aborted).toBe(false);
    expect(world.lease()).toMatchObject({ acquireTime: first?.acquireTime, leaseTransitions: 0 });
    expect(world.lease()?.renewTime).not.toBe(first?.renewTime);
  });

  it('waits while another one renews, and takes over only after a whole lease time without a change', async () => {
    const world = await startWorld();
    world.overwrite({
      holderIdentity: 'other',
      leaseDurationSeconds: 30,
      leaseTransitions: 4,
      renewTime: 'x',
    });
    const election = world.candidate('two');
    for (let renewal = 0; renewal < 5; renewal += 1) {
      await world.pass(10_000);
      world.overwrite({
        holderIdentity: 'other',
        leaseDurationSeconds: 30,
        leaseTransitions: 4,
        renewTime: String(renewal),
      });
    }
    expect(election.leading()).toBe(false);
    expect(election.holder()).toBe('other');
    const since = world.clock.elapsedMs();
    await world.pass(60_000, () => election.leading());
    expect(world.clock.elapsedMs() - since).toBeGreaterThanOrEqual(30_000);
    expect(world.lease()).toMatchObject({ holderIdentity: 'two', leaseTransitions: 5 });
  });

  it('is not moved by wall clocks: a holder with an ancient stamp is waited for, and ours may jump', async () => {
    const world = await startWorld();
    world.overwrite({
      holderIdentity: 'other',
      leaseDurationSeconds: 30,
      renewTime: '1999-01-01T00:00:00.000000Z',
    });
    const election = world.candidate('two');
    await world.pass(7_000);
    world.clock.setWall(world.clock.nowMs() + 24 * 3_600_000);
    await world.pass(7_000);
    expect(election.leading()).toBe(false);
  });

  it('stops leading when renewals fail for the renew time, before others may take over', async () => {
    const world = await startWorld();
    const election = world.candidate('one');
    const signal = await winner(world, election);
    const since = world.clock.elapsedMs();
    world.fault((response) => void response.socket?.destroy());
    await world.pass(60_000, () => signal.aborted);
    expect(world.clock.elapsedMs() - since).toBeLessThanOrEqual(10_000);
    expect(election.leading()).toBe(false);
    expect(signal.aborted).toBe(true);
  });

  it('survives a short outage', async () => {
    const world = await startWorld();
    const signal = await winner(world, world.candidate('one'));
    world.fault((response) => answer(response, 503, {}));
    await world.pass(6_000);
    world.fault(undefined);
    await world.pass(40_000);
    expect(signal.aborted).toBe(false);
  });

  it('keeps leading when a renewal was stored but its answer got lost', async () => {
    const world = await startWorld();
    const signal = await winner(world, world.candidate('one'));
    world.overwrite({ ...world.lease(), renewTime: 'stored without an answer' });
    await world.pass(40_000);
    expect(signal.aborted).toBe(false);
    expect(world.lease()).toMatchObject({ holderIdentity: 'one', leaseTransitions: 0 });
  });

  it('stops at once when another process holds the Lease, and does not take it back', async () => {
    const world = await startWorld();
    const election = world.candidate('one');
    const signal = await winner(world, election);
    world.overwrite({
      holderIdentity: 'other',
      leaseDurationSeconds: 30,
      leaseTransitions: 1,
      renewTime: 'y',
    });
    await world.pass(20_000, () => signal.aborted);
    expect(signal.aborted).toBe(true);
    await world.pass(100_000);
    expect(world.lease()?.holderIdentity).toBe('other');
    expect(election.leading()).toBe(false);
  });

  it('knows after a pause of the process that its time is over, before any timer has run', async () => {
    const world = await startWorld();
    let pausedMs = 0;
    const election = world.candidate('one', { monotonicMs: () => pausedMs });
    await winner(world, election);
    pausedMs += 10_000;
    expect(election.leading()).toBe(false);
  });

  it('knows after a sleep of the machine that its time is over, although the clock of timers stood still', async () => {
    const world = await startWorld();
    let uptimeSeconds = 1_000;
    const asleep = { uptime: () => uptimeSeconds, now: () => 0 };
    const election = world.candidate('one', { monotonicMs: createLeaseClock(asleep) });
    await winner(world, election);
    uptimeSeconds += 10;
    expect(election.leading()).toBe(false);
  });

  it('does not lead by an answer that it reads only after a pause', async () => {
    const world = await startWorld();
    let nowMs = 0;
    let late: (() => void) | undefined;
    world.fault(
      (response) => {
        const metadata = { name: 'holdfast', namespace: 'delivery', resourceVersion: '1' };
        const spec = held('one');
        late = () =>
          answer(response, 201, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
      },
      ({ method }) => method === 'POST',
    );
    const election = world.candidate('one', { monotonicMs: () => nowMs });
    await eventually(() => late !== undefined, 'the claim was sent');
    nowMs += 10_000;
    late?.();
    const signal = await election.elected();
    await eventually(() => signal.aborted, 'it ended');
    expect(election.leading()).toBe(false);
  });

  it('hands the Lease back when stopped, so that the next candidate need not wait', async () => {
    const world = await startWorld();
    const first = world.candidate('one');
    const signal = await winner(world, first);
    await first.stop();
    expect(signal.aborted).toBe(true);
    expect(world.lease()?.holderIdentity).toBe('');
    const second = world.candidate('two');
    await winner(world, second);
    expect(world.lease()).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 });
  });

  it('lets one of two candidates win', async () => {
    const world = await startWorld();
    const both = [world.candidate('one'), world.candidate('two')];
    await eventually(() => both.some((election) => election.leading()), 'one leads');
    await world.pass(90_000);
    expect(both.filter((election) => election.leading())).toHaveLength(1);
  });

  it('is not put off by what others write into the Lease', async () => {
    const world = await startWorld();
    world.overwrite(held('other'));
    const election = world.candidate('two');
    for (let second = 0; second < 20 && !election.leading(); second += 5) {
      await world.pass(5_000, () => election.leading());
      if (!election.leading()) world.overwrite({ ...world.lease() });
    }
    expect(election.leading()).toBe(true);
    expect(world.clock.elapsedMs()).toBeLessThanOrEqual(20_000);
  });

  it('waits by the watch, without asking', async () => {
    const world = await startWorld();
    world.overwrite(held('other'));
    const election = world.candidate('two');
    await world.pass(4_000);
    const asked = world.requests();
    for (let renewal = 0; renewal < 10; renewal += 1) {
      await world.pass(2_000);
      world.overwrite(held('other', `renewed ${renewal}`));
    }
    expect(world.requests()).toBe(asked);
    expect(election.leading()).toBe(false);
  });

  it('asks where it may not watch', async () => {
    const world = await startWorld();
    world.overwrite(held('other'));
    world.fault(
      (response) => answer(response, 403, failure(403, 'Forbidden', 'no')),
      ({ path, method }) => method === 'GET' && path.endsWith('/leases'),
    );
    const election = world.candidate('two');
    await world.pass(4_000);
    world.overwrite(held(''));
    await world.pass(3_000, () => election.leading());
    expect(election.leading()).toBe(true);
  });

  it('refuses times under which two processes could lead', async () => {
    const client = {} as never;
    const times = { leaseMs: 10_000, renewMs: 15_000, retryMs: 1000 };
    const names = { namespace: 'a', name: 'b', identity: 'c', manager: 'd' };
    expect(() => startElection({ ...names, client, caches: client, times })).toThrow(RangeError);
  });

  it('writes MicroTime with six digits', () => {
    expect(microTime(Date.parse('2026-11-21T09:15:43.120Z'))).toBe('2026-11-21T09:15:43.120000Z');
  });
});

/** A Lease as another process holds it. */
function held(holderIdentity: string, renewTime = 'then') {
  return { holderIdentity, leaseDurationSeconds: 15, leaseTransitions: 3, renewTime };
}

/** No time passes: what happens is by news alone, and not because a pause was over. */
describe('take-over without waiting', () => {
  const pod = { name: 'holdfast-a', uid: '1111' };
  const other = 'holdfast-a_1111_0b1c';
  const running = (restartCount = 0) => ({
    phase: 'Running',
    containerStatuses: [{ name: 'holdfast', restartCount, state: { running: {} } }],
  });
  const ended = { terminated: { exitCode: 137, reason: 'OOMKilled' } };

  /** A holder in its pod that has renewed a few times, and a standby that has seen it. */
  async function standby() {
    const world = await startWorld();
    world.putPod({ ...pod, status: running() });
    world.overwrite(held(other));
    const election = world.candidate('two', { pod: { name: 'holdfast-b', uid: '2222' } });
    for (let renewal = 0; renewal < 4; renewal += 1) {
      await world.pass(2_000);
      world.overwrite(held(other, `renewed ${renewal}`));
    }
    await world.pass(500);
    expect(election.holder()).toBe(other);
    return { world, election };
  }

  /** Time enough for requests; the clock of the election stands still. */
  const aMoment = () => new Promise((resolve) => setTimeout(resolve, 200));

  it('when the holder said goodbye', async () => {
    const { world, election } = await standby();
    world.overwrite({ ...held(''), leaseDurationSeconds: 1 });
    await eventually(() => election.leading(), 'elected');
    expect(world.lease()).toMatchObject({ holderIdentity: 'two', leaseTransitions: 4 });
  });

  it('when the holder said goodbye while it was asked for', async () => {
    const world = await startWorld();
    world.overwrite(held('laptop_0b1c'));
    let late: () => void = () => undefined;
    const before = { ...world.leaseObject() };
    const isRead = ({ method, path }: { method: string; path: string }) =>
      method === 'GET' && path.endsWith('/leases/holdfast');
    world.fault((response) => {
      late = () => answer(response, 200, before);
    }, isRead);
    const election = world.candidate('two');
    await eventually(() => world.watches() === 1 && world.requests() >= 2, 'it watches, and asks');
    world.overwrite(held(''));
    await aMoment();
    late();
    world.fault(undefined);
    await aMoment();
    await world.pass(3_000, () => election.leading());
    expect(election.leading()).toBe(true);
  });

  it('when the Lease was deleted', async () => {
    const { world, election } = await standby();
    world.removeLease();
    await eventually(() => election.leading(), 'elected');
  });

  it('when the pod of the holder was deleted', async () => {
    const { world, election } = await standby();
    world.removePod(pod.name);
    await eventually(() => election.leading(), 'elected');
    expect(world.lease()).toMatchObject({ holderIdentity: 'two', leaseTransitions: 4 });
  });

  it('when the pod of the holder was there before this standby, and is not any more', async () => {
    const world = await startWorld();
    world.overwrite(held(other));
    const election = world.candidate('two');
    await eventually(() => election.leading(), 'elected');
  });

  it('when a pod of the same name has another uid', async () => {
    const { world, election } = await standby();
    world.putPod({ ...pod, uid: '3333', status: running() });
    await eventually(() => election.leading(), 'elected');
  });

  it('when the pod of the holder has ended', async () => {
    const { world, election } = await standby();
    world.putPod({
      ...pod,
      status: { phase: 'Failed', containerStatuses: [{ name: 'holdfast', state: ended }] },
    });
    await eventually(() => election.leading(), 'elected');
  });

  it('when the container of the holder has ended', async () => {
    const { world, election } = await standby();
    const containerStatuses = [{ name: 'holdfast', restartCount: 0, state: ended }];
    world.putPod({ ...pod, status: { phase: 'Running', containerStatuses } });
    await eventually(() => election.leading(), 'elected');
  });

  it('when the container of the holder was restarted', async () => {
    const { world, election } = await standby();
    world.putPod({ ...pod, status: running(1) });
    await eventually(() => election.leading(), 'elected');
  });

  it('not from the next process in the pod, whose container is shown later than its first renewal', async () => {
    const { world, election } = await standby();
    const next = 'holdfast-a_1111_77aa';
    world.overwrite({ ...held(next, 'taken over from the one before'), leaseTransitions: 4 });
    await aMoment();
    world.overwrite({ ...held(next, 'renewed'), leaseTransitions: 4 });
    await aMoment();
    world.putPod({ ...pod, status: running(1) });
    await aMoment();
    expect(world.lease()?.holderIdentity).toBe(next);
    await world.pass(2_000);
    for (let renewal = 0; renewal < 4; renewal += 1) {
      world.overwrite({ ...held(next, `again ${renewal}`), leaseTransitions: 4 });
      await world.pass(2_000);
    }
    expect(world.lease()?.holderIdentity).toBe(next);
    expect(election.leading()).toBe(false);
  });

  it('by the next process in the same pod', async () => {
    const world = await startWorld();
    world.putPod({ ...pod, status: running() });
    world.overwrite(held(other));
    const former = ['holdfast-a_never_led', 'holdfast-a_0b1c'];
    const next = world.candidate('holdfast-a_77aa', { pod, former });
    await eventually(() => next.leading(), 'elected');
    expect(world.lease()).toMatchObject({ holderIdentity: 'holdfast-a_1111_77aa', leaseTransitions: 4 });
  });

  it('not by a process in another pod of the same name and data', async () => {
    const world = await startWorld();
    world.putPod({ ...pod, uid: '3333', status: running() });
    world.overwrite(held('holdfast-a_0b1c'));
    const next = world.candidate('holdfast-a_77aa', {
      pod: { ...pod, uid: '3333' },
      former: ['holdfast-a_0b1c'],
    });
    await world.pass(14_000);
    expect(next.leading()).toBe(false);
  });

  it('not while its pod is being deleted, or its node is not heard of: then the Lease has to run out', async () => {
    const { world, election } = await standby();
    const metadata = { deletionTimestamp: '2026-11-21T09:00:30Z' };
    world.putPod({ ...pod, metadata, status: { ...running(), phase: 'Unknown', reason: 'NodeLost' } });
    await aMoment();
    await world.pass(14_000);
    expect(election.leading()).toBe(false);
    await world.pass(2_000, () => election.leading());
    expect(election.leading()).toBe(true);
  });

  it('not when the pod may not be read: then the Lease has to run out', async () => {
    const { world, election } = await standby();
    world.fault(
      (response) => answer(response, 403, failure(403, 'Forbidden', 'no')),
      ({ path }) => path.includes('/pods'),
    );
    world.removePod(pod.name);
    await aMoment();
    await world.pass(14_000);
    expect(election.leading()).toBe(false);
    await world.pass(3_000, () => election.leading());
    expect(election.leading()).toBe(true);
  });

  it('not from a holder that names no pod', async () => {
    const world = await startWorld();
    world.overwrite(held('laptop_0b1c'));
    const election = world.candidate('two');
    await world.pass(14_000);
    expect(election.leading()).toBe(false);
  });

  it('the holder that was deposed stops at once, by its watch', async () => {
    const world = await startWorld();
    world.putPod({ ...pod, status: running() });
    const first = world.candidate('holdfast-a_0b1c', { pod });
    const signal = await winner(world, first);
    await eventually(() => world.lease()?.holderIdentity === other, 'the pod is in the identity');
    world.overwrite(held('somebody else'));
    await eventually(() => signal.aborted, 'it stopped');
    expect(first.leading()).toBe(false);
  });

  it('by one standby of two', async () => {
    const { world, election } = await standby();
    const third = world.candidate('three');
    await eventually(() => third.holder() === other, 'the third sees the holder');
    world.removePod(pod.name);
    await eventually(() => election.leading() || third.leading(), 'elected');
    await world.pass(4_000);
    expect([election, third].filter((each) => each.leading())).toHaveLength(1);
    expect(world.lease()).toMatchObject({ leaseTransitions: 4 });
  });

  it('and the holder does not take back what somebody took from it', async () => {
    const world = await startWorld();
    const signal = await winner(world, world.candidate('one'));
    world.overwrite(held(''));
    await eventually(() => signal.aborted, 'it stopped');
    await world.pass(20_000);
    expect(world.lease()?.holderIdentity).toBe('');
  });

  it('says its pod only where the API server knows this very pod', async () => {
    const world = await startWorld();
    world.putPod({ ...pod, status: running() });
    await winner(world, world.candidate('holdfast-a_77aa', { pod: { ...pod, uid: 'of another cluster' } }));
    expect(world.lease()?.holderIdentity).toBe('holdfast-a_77aa');
  });
});

describe('goodbye', () => {
  it('comes after the last write that was under way, and nothing is written in between', async () => {
    const world = await startWorld();
    const first = world.candidate('one');
    await winner(world, first);
    let end: () => void = () => undefined;
    const stopped = first.stop(() => new Promise<void>((resolve) => (end = resolve)));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(first.leading()).toBe(false);
    expect(world.lease()?.holderIdentity).toBe('one');
    end();
    await stopped;
    expect(world.lease()).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
  });

  it('is said although somebody else wrote a label into the Lease', async () => {
    const world = await startWorld();
    const first = world.candidate('one');
    await winner(world, first);
    world.fault(
      (response) => void response.socket?.destroy(),
      ({ path, method }) => method === 'GET' && path.endsWith('/leases'),
    );
    world.overwrite({ ...world.lease() });
    await first.stop();
    expect(world.lease()?.holderIdentity).toBe('');
  });

  it('is not said for another holder of whom nothing was heard', async () => {
    const world = await startWorld();
    const first = world.candidate('one');
    await winner(world, first);
    world.fault(
      (response) => void response.socket?.destroy(),
      ({ path, method }) => method === 'GET' && path.endsWith('/leases'),
    );
    world.overwrite(held('other'));
    expect(first.leading()).toBe(true);
    await first.stop();
    expect(world.lease()?.holderIdentity).toBe('other');
  });

  it('is not said for another holder', async () => {
    const world = await startWorld();
    const first = world.candidate('one');
    const signal = await winner(world, first);
    world.overwrite(held('other'));
    await eventually(() => signal.aborted, 'it stopped');
    await first.stop();
    expect(world.lease()?.holderIdentity).toBe('other');
  });
});
