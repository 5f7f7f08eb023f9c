import { uptime } from 'node:os';
import { type Clock, sleep, systemClock } from '../../api/clock.ts';
import type { Log } from '../../contracts/cluster.ts';
import type { Caches } from '../caches/caches.ts';
import type { ClusterClient } from '../client/client.ts';
import { isApiError } from '../errors.ts';
import { silentLogger } from '../log.ts';
import { linkSignals, type Random } from '../timing.ts';
import {
  acquireOrRenew,
  type Candidate,
  expiresAtMs,
  hasLed,
  type LeaseTimes,
  observe,
  releaseLease,
} from './lease-attempt.ts';
import { identityInPod, type PodName, podOfIdentity } from './lease-holder.ts';
import { createLeaseStore, isOlder, type LeasePlace, type LeaseRecord } from './lease-record.ts';
import { type LeaseWatch, watchLease } from './lease-watch.ts';

/** What an election needs. */
export interface ElectionOptions extends LeasePlace {
  /** Uses a separate transport: renewals must not queue behind a burst of other requests. */
  readonly client: ClusterClient;
  /** For the watches of the Lease and of its holder's pod. */
  readonly caches: Pick<Caches, 'ensure'>;
  /** Unique to this process, for instance `<host name>_<uuid>`: a restarted process is another candidate. */
  readonly identity: string;
  /** Identities of processes that ran in this pod before and have certainly ended: their Lease is taken over without waiting. */
  readonly former?: readonly string[];
  /** The pod this process runs in. If the API server knows it in `namespace`, the identity names it, and others need not wait for the Lease to expire when it is gone. */
  readonly pod?: PodName | undefined;
  /** Default 15 s lease, 10 s renewal, 2 s retry, as client-go's (ADR 33). */
  readonly times?: LeaseTimes | undefined;
  readonly clock?: Clock;
  /** A monotonic clock that includes the time in which the machine was suspended; default `createLeaseClock()`. */
  readonly monotonicMs?: () => number;
  readonly random?: Random;
  readonly logger?: Log;
}

/** One candidacy. It leads at most once: after a loss the process should end, not resume. */
export interface Election {
  /** Resolves when this process leads, with a signal that aborts when it must stop acting; stays open if it never leads. */
  elected(): Promise<AbortSignal>;
  /** True while acting is allowed. Ask before every write: after a pause of the process it is right before any timer is. */
  leading(): boolean;
  /** Who holds the Lease, as last seen; empty when it is unknown or there is no holder. For messages. */
  holder(): string;
  /**
   * Ends the candidacy: a leader stops leading immediately, waits for `lastWrites` and releases the Lease, so that the next leader need not wait.
   * `lastWrites` resolves when all requests that were sent before have ended.
   */
  stop(lastWrites?: () => Promise<unknown>): Promise<void>;
}

const defaultTimes: LeaseTimes = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2_000 };

/**
 * Milliseconds on a monotonic clock. The clock of timers stops while the machine is suspended, and the Lease expires in that time; the time
 * since boot continues, so the difference is added.
 */
export function createLeaseClock(machine = { uptime, now: () => performance.now() }): () => number {
  const startMs = machine.uptime() * 1000 - machine.now();
  let sleptMs = 0;
  return () => {
    const nowMs = machine.now();
    sleptMs = Math.max(sleptMs, machine.uptime() * 1000 - nowMs - startMs);
    return nowMs + sleptMs;
  };
}

/** Starts to run for leader. Throws RangeError for times that would let two processes lead. */
export function startElection(options: ElectionOptions): Election {
  const { logger = silentLogger, random = Math.random, former = [] } = options;
  const stopping = new AbortController();
  const { candidate, watch } = newCandidate(options, stopping.signal, logger);
  const { leadership, clock, times, monotonicMs } = candidate;
  let announce: (signal: AbortSignal) => void = () => undefined;
  const elected = new Promise<AbortSignal>((resolve) => {
    announce = resolve;
  });
  const running = run();

  async function run(): Promise<void> {
    const patience = { pause: () => sleep(clock, pauseMs(), stopping.signal), signal: stopping.signal };
    candidate.identity = await ownIdentity(options, patience);
    const pod = podOfIdentity(candidate.identity);
    // In a pod only its own former processes count: a process with the same host name may run on another node.
    candidate.former = pod ? former.map((each) => identityInPod(pod, each)) : former;
    watch.start();
    await win();
    if (stopping.signal.aborted) return;
    logger.info({ identity: candidate.identity }, 'leader election: became leader');
    announce(leadership.signal);
    await keep();
    leadership.abort();
    if (!stopping.signal.aborted)
      logger.error({ holder: candidate.record?.holder }, 'leader election: leadership lost');
  }

  /** Tries once, and then again only after an event of the watch or when the Lease has expired. */
  async function win(): Promise<void> {
    while (!stopping.signal.aborted) {
      const before = watch.events();
      if (await tryOnce()) return;
      await watch.until(() => watch.events() !== before, pauseMs(), leadership.signal);
      while (!stopping.signal.aborted && !isWorthATry()) {
        // A broken watch reports nothing: its health is checked after each pause, without a request.
        const leftMs = Math.max(1, expiresAtMs(candidate) - monotonicMs());
        await watch.until(isWorthATry, Math.min(leftMs, pauseMs()), leadership.signal);
      }
    }
  }

  /** Renews until the Lease is lost, or cannot be renewed in time. A watch reports another holder immediately. */
  async function keep(): Promise<void> {
    let answered = true;
    while (leading()) {
      await watch.until(() => answered && isDeposed(), pauseMs(), leadership.signal);
      const outcome = leading() ? await tryOnce() : false;
      if (outcome === false) return;
      answered = outcome === true;
    }
  }

  function isWorthATry(): boolean {
    if (!watch.follows() || !candidate.record?.holder) return true;
    return monotonicMs() >= expiresAtMs(candidate) || watch.seemsGone();
  }

  function isDeposed(): boolean {
    return candidate.record?.holder !== candidate.identity;
  }

  /** Undefined: the server could not be asked, which ends a leadership only by its deadline. */
  async function tryOnce(): Promise<boolean | undefined> {
    try {
      return await acquireOrRenew(candidate);
    } catch (error) {
      if (!stopping.signal.aborted) logger.warn({ reason: String(error) }, 'leader election: trying again');
      return undefined;
    } finally {
      watch.replay();
    }
  }

  function pauseMs(): number {
    return times.retryMs * (0.8 + random() * 0.4);
  }

  function leading(): boolean {
    return !leadership.signal.aborted && monotonicMs() < candidate.leadsUntilMs;
  }

  return {
    leading,
    elected: () => elected,
    holder: () => candidate.record?.holder ?? '',
    async stop(lastWrites = async () => undefined) {
      stopping.abort();
      await running;
      await watch.close();
      if (hasLed(candidate)) await lastWrites();
      await releaseLease(candidate);
    },
  };
}

function newCandidate(
  options: ElectionOptions,
  stopping: AbortSignal,
  logger: Log,
): { candidate: Candidate; watch: LeaseWatch } {
  const { client, namespace, name, clock = systemClock, times = defaultTimes } = options;
  if (!(times.retryMs < times.renewMs && times.renewMs < times.leaseMs)) {
    throw new RangeError('leader election: retry must be shorter than renew, and renew shorter than lease');
  }
  const isCurrent = (record: LeaseRecord | undefined) => !record || !isOlder(record, candidate.record);
  const candidate: Candidate = {
    times,
    clock,
    identity: options.identity,
    former: [],
    store: createLeaseStore(client, options),
    monotonicMs: options.monotonicMs ?? createLeaseClock(),
    leadership: linkSignals(stopping),
    onRenewal: (record) => watch.renewed(record?.holder === candidate.identity ? undefined : record),
    async whyGone(record, signal) {
      const why = await watch.readWhyGone(record, signal);
      if (why) logger.info({ holder: record.holder, why }, 'leader election: the leader is gone');
      return why;
    },
    record: undefined,
    unchangedSinceMs: 0,
    leadsUntilMs: Number.NEGATIVE_INFINITY,
    cancelDeadline: () => undefined,
  };
  const watch = watchLease({
    client,
    namespace,
    name,
    clock,
    caches: options.caches,
    onLease(record) {
      if (isCurrent(record)) observe(candidate, record);
    },
  });
  return { candidate, watch };
}

/** Takes no part in an election and never leads, for a process that writes nothing. */
export function createShadowElection(): Election {
  const never = new AbortController().signal;
  return { elected: async () => never, leading: () => false, holder: () => '', stop: async () => undefined };
}

/** Who this process is, and where. */
interface OwnIdentityOptions {
  readonly client: Pick<ClusterClient, 'get'>;
  readonly namespace: string;
  readonly identity: string;
  readonly pod?: PodName | undefined;
}

/**
 * The identity with the pod in it, if the API server knows this pod in the namespace of the Lease. It is read, since with a wrong pod others would
 * take this process for gone: the variables may come from a pod of another cluster or namespace. Waits while the server does not answer.
 */
async function ownIdentity(
  { client, namespace, identity, pod }: OwnIdentityOptions,
  { pause, signal }: { readonly pause: () => Promise<void>; readonly signal: AbortSignal },
): Promise<string> {
  while (pod && !signal.aborted) {
    try {
      const seen = await client.get({ apiVersion: 'v1', kind: 'Pod', namespace, name: pod.name }, { signal });
      return seen?.metadata.uid === pod.uid ? identityInPod(pod, identity) : identity;
    } catch (error) {
      if (!isApiError(error, 'transient', 'timeout', 'tooManyRequests', 'aborted')) return identity;
      await pause();
    }
  }
  return identity;
}
