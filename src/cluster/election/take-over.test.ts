import { afterEach, describe, expect, it } from 'vitest';
import { held, startElectionWorld, winner } from '../testing/election-world.ts';
import { eventually } from '../testing/manual-clock.ts';
import { answer, failure } from '../testing/scripted-server.ts';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const startWorld = () => startElectionWorld(cleanups);

/** The clock does not advance: everything that happens is caused by watch events, not by the end of a pause. */
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

  /** Real time for requests; the clock of the election does not advance. */
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

  it('not while its pod is being deleted, or its node is unreachable: then the Lease has to expire', async () => {
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

  it('the holder that was deposed stops immediately, by its watch', async () => {
    const world = await startWorld();
    world.putPod({ ...pod, status: running() });
    const first = world.candidate('holdfast-a_0b1c', { pod });
    const signal = await winner(world, first);
    await eventually(() => world.lease()?.holderIdentity === other, 'the pod is in the identity');
    world.overwrite(held('other'));
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

  it('and the holder does not take back a Lease that another candidate took', async () => {
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
