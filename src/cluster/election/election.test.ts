import { afterEach, describe, expect, it } from 'vitest';
import { held, startElectionWorld, winner } from '../testing/election-world.ts';
import { eventually } from '../testing/manual-clock.ts';
import { answer, failure } from '../testing/scripted-server.ts';
import { createLeaseClock, startElection } from './election.ts';
import { microTime } from './lease-record.ts';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const startWorld = () => startElectionWorld(cleanups);

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

  it('stops immediately when another process holds the Lease, and does not take it back', async () => {
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

  /** A leader whose renewal was stored and not answered yet; another one has taken the Lease since, as both know. */
  async function overtaken(monotonicMs?: () => number) {
    const world = await startWorld();
    const election = world.candidate('one', monotonicMs && { monotonicMs });
    const signal = await winner(world, election);
    let late: (() => void) | undefined;
    world.fault(
      (response) => {
        if (late) return void response.socket?.destroy();
        world.overwrite({ ...world.lease(), renewTime: 'renewed' });
        const renewed = world.leaseObject();
        late = () => answer(response, 200, renewed);
      },
      ({ method }) => method === 'PATCH',
    );
    await world.pass(10_000, () => late !== undefined);
    world.overwrite(held('other'));
    await eventually(() => election.holder() === 'other', 'it observed the other one');
    return { world, election, signal, answerLate: () => late?.() };
  }

  it('stops when the watch reports another holder, although the answer to its own renewal comes later', async () => {
    const { election, signal, answerLate } = await overtaken();
    answerLate();
    await eventually(() => signal.aborted, 'it stopped');
    expect([election.leading(), election.holder()]).toEqual([false, 'other']);
  });

  it('renews nothing by an answer that it reads after it was suspended, and leaves the Lease to the next one', async () => {
    let suspendedMs = 0;
    const { world, election, signal, answerLate } = await overtaken(() => suspendedMs);
    suspendedMs = 20_000;
    expect(election.leading()).toBe(false);
    answerLate();
    await eventually(() => signal.aborted, 'it stopped');
    world.fault(undefined);
    await election.stop();
    expect([election.leading(), election.holder()]).toEqual([false, 'other']);
    expect(world.lease()?.holderIdentity).toBe('other');
  });

  it('tries again after the machine slept while it took the Lease, when all timers were overdue together', async () => {
    const world = await startWorld();
    let isAsked = false;
    world.fault(
      () => {
        isAsked = true;
      },
      ({ method }) => method === 'POST',
    );
    const election = world.candidate('one');
    await eventually(() => isAsked, 'the claim was sent');
    world.clock.advance(20_000);
    world.fault(undefined);
    await world.pass(60_000, () => election.leading());
    expect(election.leading()).toBe(true);
    expect(world.lease()).toMatchObject({ holderIdentity: 'one' });
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

  it('is reported although another writer put a label on the Lease', async () => {
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

  it('is not reported for another holder that was never observed', async () => {
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
