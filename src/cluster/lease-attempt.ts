import type { Clock } from '../api/clock.ts';
import { type LinkedSignal, linkSignals } from './abort.ts';
import { type LeaseRecord, type LeaseStore, wasTaken } from './lease-record.ts';

/** Times of leader election, in milliseconds. Must be: retry < renew < lease. */
export interface LeaseTimes {
  /** Others wait this long after the last change of the Lease before they take it. */
  readonly leaseMs: number;
  /** A leader that could not renew for this long stops leading. */
  readonly renewMs: number;
  /** Pause between two tries or renewals. */
  readonly retryMs: number;
}

/** One process that wants the Lease, or holds it. */
export interface Candidate {
  readonly identity: string;
  readonly store: LeaseStore;
  readonly times: LeaseTimes;
  readonly clock: Clock;
  /** A clock that nobody sets; ages are measured with it alone (S30). */
  readonly monotonicMs: () => number;
  /** Aborted when the candidacy or the leadership ends. */
  readonly leadership: LinkedSignal;
  /** The Lease as last seen, and since when it has not changed. */
  record: LeaseRecord | undefined;
  unchangedSinceMs: number;
  /** Until when we may act; -Infinity: we do not lead. */
  leadsUntilMs: number;
  cancelDeadline: () => void;
}

/** One renewal, or one try to take the Lease: true when it is ours now. Throws when nobody can say. */
export async function attempt(candidate: Candidate): Promise<boolean> {
  const limit = linkSignals(candidate.leadership.signal);
  const cancel = candidate.clock.after(candidate.times.renewMs / 2, () => limit.abort());
  try {
    return await attemptOnce(candidate, limit.signal);
  } finally {
    cancel();
    limit.release();
  }
}

async function attemptOnce(candidate: Candidate, signal: AbortSignal): Promise<boolean> {
  const holds = candidate.record?.holder === candidate.identity;
  try {
    if (holds) return await claim(candidate, signal);
  } catch (error) {
    // An earlier renewal without an answer may have been stored: only a read can tell it from another holder.
    if (!wasTaken(error)) throw error;
  }
  observe(candidate, await candidate.store.read(signal));
  if (!mayTake(candidate, holds)) return false;
  try {
    return await claim(candidate, signal);
  } catch (error) {
    if (wasTaken(error)) return false;
    throw error;
  }
}

/** Ours, nobody's, or not renewed for the time its holder asked for. A leader whose Lease has another holder, or is gone, lost it. */
function mayTake(candidate: Candidate, held: boolean): boolean {
  const { record, identity, times } = candidate;
  if (record?.holder === identity) return true;
  if (held) return false;
  if (!record?.holder) return true;
  const waitMs = Math.max(times.leaseMs, record.durationSeconds * 1000);
  return candidate.monotonicMs() - candidate.unchangedSinceMs > waitMs;
}

/** Notes when the Lease changed by our own clock. The times written in it come from another clock and are never compared. */
function observe(candidate: Candidate, record: LeaseRecord | undefined): void {
  if (record?.resourceVersion !== candidate.record?.resourceVersion)
    candidate.unchangedSinceMs = candidate.monotonicMs();
  candidate.record = record;
}

async function claim(candidate: Candidate, signal: AbortSignal): Promise<true> {
  // Counted from before the request: others see the change later, so they wait longer than we act.
  const startedMs = candidate.monotonicMs();
  const cancelNewDeadline = candidate.clock.after(candidate.times.renewMs, () =>
    candidate.leadership.abort(),
  );
  try {
    const takesOver = candidate.record?.holder !== candidate.identity;
    const written = {
      holder: candidate.identity,
      durationSeconds: Math.ceil(candidate.times.leaseMs / 1000),
      nowMs: candidate.clock.nowMs(),
      transitions: (candidate.record?.transitions ?? -1) + (takesOver ? 1 : 0),
      takesOver,
    };
    observe(candidate, await candidate.store.write(written, candidate.record, signal));
  } catch (error) {
    cancelNewDeadline();
    throw error;
  }
  candidate.cancelDeadline();
  candidate.cancelDeadline = cancelNewDeadline;
  candidate.leadsUntilMs = startedMs + candidate.times.renewMs;
  return true;
}

/** Leaves the Lease without a holder. Best effort: without it the next candidate waits for the full lease time. */
export async function handBack(candidate: Candidate): Promise<void> {
  candidate.cancelDeadline();
  const { record, identity, clock, times } = candidate;
  if (record?.holder !== identity) return;
  const released = {
    holder: '',
    durationSeconds: 1,
    nowMs: clock.nowMs(),
    transitions: record.transitions,
    takesOver: false,
  };
  const limit = linkSignals();
  const cancel = clock.after(times.retryMs, () => limit.abort());
  await candidate.store.write(released, record, limit.signal).catch(() => undefined);
  cancel();
}
