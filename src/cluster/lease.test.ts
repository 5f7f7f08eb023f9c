import { afterEach, describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { createClusterClient } from './client.ts';
import { createDiscovery } from './discovery.ts';
import { type Election, startElection } from './lease.ts';
import { microTime } from './lease-record.ts';
import { createManualClock, eventually, type ManualClock } from './testing/manual-clock.ts';
import { accessTo, answer, failure, type Script, startScriptedServer } from './testing/scripted-server.ts';
import { createTransport } from './transport.ts';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface World {
  readonly clock: ManualClock;
  lease(): Record<string, unknown> | undefined;
  /** Another process writes the Lease. */
  overwrite(spec: Record<string, unknown>): void;
  /** Answers every Lease request with this from now on; undefined: works again. */
  fault(script: Script | undefined): void;
  candidate(identity: string, monotonicMs?: () => number): Election;
  /** Lets pauses pass until the condition holds. */
  pass(milliseconds: number, condition?: () => boolean): Promise<void>;
}

/** One Lease, as a server keeps it: writes over another version are refused. */
function createStoredLease() {
  let stored: KubernetesObject | undefined;
  let version = 0;

  function write(spec: unknown): KubernetesObject {
    version += 1;
    const metadata = { name: 'holdfast', namespace: 'delivery', resourceVersion: String(version) };
    stored = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    return stored;
  }

  const serve: Script = (request, response) => {
    const body = request.body as KubernetesObject | undefined;
    if (request.method === 'GET' && !stored) {
      return answer(response, 404, failure(404, 'NotFound', 'no', { name: 'holdfast' }));
    }
    if (request.method === 'GET') return answer(response, 200, stored);
    if (request.method === 'POST' && stored)
      return answer(response, 409, failure(409, 'AlreadyExists', 'there'));
    if (request.method === 'PATCH' && body?.metadata.resourceVersion !== String(version)) {
      return answer(response, 409, failure(409, 'Conflict', 'modified'));
    }
    answer(response, 200, write({ ...(stored?.spec as object), ...(body?.spec as object) }));
  };

  return { write, serve, spec: () => stored?.spec as Record<string, unknown> | undefined };
}

/** A server that knows one Lease, and candidates on a clock of the test's own. */
async function startWorld(): Promise<World> {
  const clock = createManualClock();
  const lease = createStoredLease();
  let broken: Script | undefined;
  const server = await startScriptedServer((request, response) => {
    if (request.path === '/api' || request.path === '/apis')
      return answer(response, 200, discovery(request.path));
    (broken ?? lease.serve)(request, response);
  });
  const transport = createTransport({ access: accessTo(server.url), userAgent: 'test', random: () => 0 });
  const client = createClusterClient({ transport, discovery: createDiscovery(transport) });
  cleanups.push(
    () => server.close(),
    () => transport.close(),
  );
  return {
    clock,
    lease: lease.spec,
    overwrite: lease.write,
    fault(script) {
      broken = script;
    },
    candidate(identity, monotonicMs = () => clock.elapsedMs()) {
      const names = { namespace: 'delivery', name: 'holdfast', identity, manager: 'holdfast' };
      const election = startElection({ ...names, client, clock, monotonicMs, random: () => 0.5 });
      cleanups.push(() => {
        broken = undefined;
        return election.stop();
      });
      return election;
    },
    async pass(milliseconds, condition = () => false) {
      for (let passed = 0; passed < milliseconds && !condition(); passed += 1000) {
        clock.advance(1000);
        await new Promise((resolve) => setTimeout(resolve, 15));
      }
    },
  };
}

function discovery(path: string): unknown {
  const resources = [{ resource: 'leases', responseKind: { kind: 'Lease' }, scope: 'Namespaced' }];
  const items = [{ metadata: { name: 'coordination.k8s.io' }, versions: [{ version: 'v1', resources }] }];
  return { kind: 'APIGroupDiscoveryList', items: path === '/apis' ? items : [] };
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
    expect(first).toMatchObject({ holderIdentity: 'one', leaseDurationSeconds: 30, leaseTransitions: 0 });
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
      await world.pass(20_000);
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
    await world.pass(10_000);
    world.clock.setWall(world.clock.nowMs() + 24 * 3_600_000);
    await world.pass(10_000);
    expect(election.leading()).toBe(false);
  });

  it('stops leading when renewals fail for the renew time, before others may take over', async () => {
    const world = await startWorld();
    const election = world.candidate('one');
    const signal = await winner(world, election);
    const since = world.clock.elapsedMs();
    world.fault((_, response) => void response.socket?.destroy());
    await world.pass(60_000, () => signal.aborted);
    expect(world.clock.elapsedMs() - since).toBeLessThanOrEqual(20_000);
    expect(election.leading()).toBe(false);
    expect(signal.aborted).toBe(true);
  });

  it('survives a short outage', async () => {
    const world = await startWorld();
    const signal = await winner(world, world.candidate('one'));
    world.fault((_, response) => answer(response, 503, {}));
    await world.pass(10_000);
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
    const election = world.candidate('one', () => pausedMs);
    await winner(world, election);
    pausedMs += 20_000;
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

  it('refuses times under which two processes could lead', async () => {
    const client = {} as never;
    const times = { leaseMs: 10_000, renewMs: 15_000, retryMs: 1000 };
    const names = { namespace: 'a', name: 'b', identity: 'c', manager: 'd' };
    expect(() => startElection({ ...names, client, times })).toThrow(RangeError);
  });

  it('writes MicroTime with six digits', () => {
    expect(microTime(Date.parse('2026-11-21T09:15:43.120Z'))).toBe('2026-11-21T09:15:43.120000Z');
  });
});
