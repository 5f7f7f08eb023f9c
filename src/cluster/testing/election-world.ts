import { expect } from 'vitest';
import { createCaches } from '../caches/caches.ts';
import { createClusterClient } from '../client/client.ts';
import { createDiscovery } from '../client/discovery.ts';
import { type Election, type ElectionOptions, startElection } from '../election/election.ts';
import { createTransport } from '../transport/transport.ts';
import { type LeaseServer, startLeaseServer } from './lease-server.ts';
import { createManualClock, eventually, type ManualClock } from './manual-clock.ts';
import { accessTo } from './scripted-server.ts';

/** One Lease, pods and candidates on a clock of the test's own. */
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

/** A server that knows one Lease and pods, and candidates, each with its own connection. What must end is added to `cleanups`. */
export async function startElectionWorld(cleanups: Array<() => unknown>): Promise<World> {
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
        // On a busy machine that pause may be one turn of the event loop, and a request with its answer takes several.
        for (let turns = 0; turns < 50; turns += 1) await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

/** Waits until this candidate leads. */
export async function winner(world: World, election: Election): Promise<AbortSignal> {
  await eventually(() => election.leading(), 'elected');
  expect(world.lease()?.holderIdentity).toBeDefined();
  return election.elected();
}

/** A Lease as another process holds it. */
export function held(holderIdentity: string, renewTime = 'then') {
  return { holderIdentity, leaseDurationSeconds: 15, leaseTransitions: 3, renewTime };
}
