import { type Clock, sleep, systemClock } from '../api/clock.ts';
import { linkSignals } from './abort.ts';
import type { Random } from './backoff.ts';
import type { ClusterClient } from './client.ts';
import { attempt, type Candidate, handBack, type LeaseTimes } from './lease-attempt.ts';
import { createLeaseStore } from './lease-record.ts';
import { type Logger, silentLogger } from './log.ts';

/** What an election needs. */
export interface ElectionOptions {
  /** Over a transport of its own: renewals must not queue behind a burst of other requests. */
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly name: string;
  /** Unique to this process, for instance `<pod name>_<uuid>`: a restarted process is another candidate. */
  readonly identity: string;
  readonly manager: string;
  /** Default 30 s lease, 20 s renewal, 4 s retry. */
  readonly times?: LeaseTimes;
  readonly clock?: Clock;
  /** A clock that nobody sets; default performance.now(). */
  readonly monotonicMs?: () => number;
  readonly random?: Random;
  readonly logger?: Logger;
}

/** One candidacy. It leads at most once: after a loss the process should end, not resume. */
export interface Election {
  /** Resolves when this process leads, with a signal that aborts when it must stop acting; stays open if it never leads. */
  elected(): Promise<AbortSignal>;
  /** True while acting is allowed. Ask before every write: after a pause of the process it is right before any timer is. */
  leading(): boolean;
  /** Who holds the Lease, as last read; empty when unknown or nobody. For messages. */
  holder(): string;
  /** Ends the candidacy; a leader stops leading and hands the Lease back, so that the next one need not wait. */
  stop(): Promise<void>;
}

const defaultTimes: LeaseTimes = { leaseMs: 30_000, renewMs: 20_000, retryMs: 4_000 };

/** Starts to run for leader. Throws RangeError for times that would let two processes lead. */
export function startElection(options: ElectionOptions): Election {
  const { logger = silentLogger, random = Math.random } = options;
  const stopping = new AbortController();
  const candidate = newCandidate(options, stopping.signal);
  const { leadership, clock, times, monotonicMs } = candidate;
  let announce: (signal: AbortSignal) => void = () => undefined;
  const elected = new Promise<AbortSignal>((resolve) => {
    announce = resolve;
  });
  const running = run();

  async function run(): Promise<void> {
    // `undefined`: the server could not be asked, which ends a leadership only by its deadline.
    while (!stopping.signal.aborted && !(await tryOnce())) await pause();
    if (stopping.signal.aborted) return;
    logger.info({ identity: candidate.identity }, 'leader election: this process leads');
    announce(leadership.signal);
    while (leading()) {
      await pause();
      if (leading() && (await tryOnce()) === false) break;
    }
    leadership.abort();
    if (!stopping.signal.aborted)
      logger.error({ holder: candidate.record?.holder }, 'leader election: leadership lost');
  }

  async function tryOnce(): Promise<boolean | undefined> {
    try {
      return await attempt(candidate);
    } catch (error) {
      if (!stopping.signal.aborted) logger.warn({ reason: String(error) }, 'leader election: trying again');
      return undefined;
    }
  }

  function pause(): Promise<void> {
    return sleep(clock, times.retryMs * (0.8 + random() * 0.4), leadership.signal);
  }

  function leading(): boolean {
    return !leadership.signal.aborted && monotonicMs() < candidate.leadsUntilMs;
  }

  return {
    leading,
    elected: () => elected,
    holder: () => candidate.record?.holder ?? '',
    async stop() {
      stopping.abort();
      await running;
      await handBack(candidate);
    },
  };
}

function newCandidate(options: ElectionOptions, stopping: AbortSignal): Candidate {
  const times = options.times ?? defaultTimes;
  if (!(times.retryMs < times.renewMs && times.renewMs < times.leaseMs)) {
    throw new RangeError('leader election: retry must be shorter than renew, and renew shorter than lease');
  }
  return {
    times,
    identity: options.identity,
    store: createLeaseStore(options.client, options.namespace, options.name, options.manager),
    clock: options.clock ?? systemClock,
    monotonicMs: options.monotonicMs ?? (() => performance.now()),
    leadership: linkSignals(stopping),
    record: undefined,
    unchangedSinceMs: 0,
    leadsUntilMs: Number.NEGATIVE_INFINITY,
    cancelDeadline: () => undefined,
  };
}
