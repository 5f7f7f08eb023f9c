import type { Clock } from '../../api/clock.ts';
import { type LinkedSignal, linkSignals } from '../timing.ts';
import {
  isLeaseConflict,
  isUnchanged,
  type LeaseClaim,
  type LeaseRecord,
  type LeaseStore,
} from './lease-record.ts';

/** Times of leader election, in milliseconds. Must be: retry < renew < lease. */
export interface LeaseTimes {
  /** Others wait this long after the last change of the Lease before they take it from a holder that may live. */
  readonly leaseMs: number;
  /** A leader that could not renew for this long stops leading. */
  readonly renewMs: number;
  /** Pause between two tries or renewals. */
  readonly retryMs: number;
}

/** One process that tries to get the Lease, or holds it. */
export interface Candidate {
  /** Known before the first try. */
  identity: string;
  /** Of processes that ran in the same place before and are certainly gone. */
  former: readonly string[];
  readonly store: LeaseStore;
  readonly times: LeaseTimes;
  readonly clock: Clock;
  /** A monotonic clock; ages are measured with it alone (S30). */
  readonly monotonicMs: () => number;
  /** Aborted when the candidacy or the leadership ends. */
  readonly leadership: LinkedSignal;
  /** Called for every change that a holder of the Lease made. */
  readonly onRenewal: (record: LeaseRecord | undefined) => void;
  /** Why another holder is certainly gone; undefined: it may be alive, or it is unknown. */
  readonly whyGone: (record: LeaseRecord, signal: AbortSignal) => Promise<string | undefined>;
  /** The Lease as last seen, and since when its holder has not changed it. */
  record: LeaseRecord | undefined;
  unchangedSinceMs: number;
  /** Until when this process may act as leader; -Infinity: it never led. */
  leadsUntilMs: number;
  cancelDeadline: () => void;
}

/** One renewal, or one try to take the Lease: true when this process holds it now. Throws when that is unknown. */
export async function acquireOrRenew(candidate: Candidate): Promise<boolean> {
  const limit = linkSignals(candidate.leadership.signal);
  const cancel = candidate.clock.after(candidate.times.renewMs / 2, () => limit.abort());
  try {
    return await acquireOrRenewOnce(candidate, limit.signal);
  } finally {
    cancel();
    limit.release();
  }
}

async function acquireOrRenewOnce(candidate: Candidate, signal: AbortSignal): Promise<boolean> {
  const leads = hasLed(candidate);
  const { record } = candidate;
  try {
    if (record?.holder === candidate.identity) return await claim(candidate, record, signal);
  } catch (error) {
    // An earlier renewal without an answer may have been stored: only a read can distinguish it from another holder.
    if (!isLeaseConflict(error)) throw error;
  }
  // Decide on the version that the claim is bound to, not on what the watch reports in between.
  const read = await candidate.store.read(signal);
  observe(candidate, read);
  if (!(await mayTake(candidate, leads, signal))) return false;
  try {
    return await claim(candidate, read, signal);
  } catch (error) {
    if (isLeaseConflict(error)) return false;
    throw error;
  }
}

/**
 * True when this process holds the Lease, nobody does, it has expired, or its holder is gone. A leader whose Lease has another holder, or was
 * deleted, has lost it.
 */
async function mayTake(candidate: Candidate, leads: boolean, signal: AbortSignal): Promise<boolean> {
  const { record, identity } = candidate;
  if (record?.holder === identity) return true;
  if (leads) return false;
  if (!record?.holder || candidate.former.includes(record.holder)) return true;
  if (candidate.monotonicMs() >= expiresAtMs(candidate)) return true;
  return (await candidate.whyGone(record, signal)) !== undefined;
}

/** When the Lease expires, by the clock of this process. The holder may have asked for a longer duration. */
export function expiresAtMs({ record, times, unchangedSinceMs }: Candidate): number {
  return unchangedSinceMs + Math.max(times.leaseMs, (record?.durationSeconds ?? 0) * 1000);
}

/** True after the first success: a process that led once never takes the Lease again. */
export function hasLed({ leadsUntilMs }: Candidate): boolean {
  return leadsUntilMs !== Number.NEGATIVE_INFINITY;
}

/** Notes when its holder changed the Lease, by our own clock. The times written in it come from another clock and are never compared. */
export function observe(candidate: Candidate, record: LeaseRecord | undefined): void {
  const changed = !isUnchanged(candidate.record, record);
  candidate.record = record;
  if (!changed) return;
  candidate.unchangedSinceMs = candidate.monotonicMs();
  candidate.onRenewal(record);
}

async function claim(
  candidate: Candidate,
  over: LeaseRecord | undefined,
  signal: AbortSignal,
): Promise<true> {
  // Counted from before the request: others see the change later, so they wait longer than we act.
  const startedMs = candidate.monotonicMs();
  const takesOver = over?.holder !== candidate.identity;
  const claimed = {
    holder: candidate.identity,
    durationSeconds: Math.ceil(candidate.times.leaseMs / 1000),
    nowMs: candidate.clock.nowMs(),
    transitions: (over?.transitions ?? -1) + (takesOver ? 1 : 0),
    takesOver,
  };
  observe(candidate, await candidate.store.write(claimed, over, signal));
  // Only now: a deadline of a claim that failed must end no candidacy, however late its failure was seen.
  const leftMs = Math.max(0, startedMs + candidate.times.renewMs - candidate.monotonicMs());
  candidate.cancelDeadline();
  candidate.cancelDeadline = candidate.clock.after(leftMs, () => candidate.leadership.abort());
  candidate.leadsUntilMs = startedMs + candidate.times.renewMs;
  return true;
}

/** Leaves the Lease without a holder. Best effort: without it the next candidate waits until the Lease has run out, or our pod is gone. */
export async function releaseLease(candidate: Candidate): Promise<void> {
  candidate.cancelDeadline();
  const { record, identity, clock, times, store } = candidate;
  if (!hasLed(candidate) || record?.holder !== identity) return;
  const limit = linkSignals();
  const cancel = clock.after(times.retryMs, () => limit.abort());
  try {
    await store.write(released(candidate, record), record, limit.signal);
  } catch (error) {
    // The version changed by a renewal whose answer was lost, or by an annotation of another writer: this process still holds the Lease.
    const now = isLeaseConflict(error) ? await store.read(limit.signal).catch(() => undefined) : undefined;
    if (now?.holder === identity)
      await store.write(released(candidate, now), now, limit.signal).catch(() => undefined);
  } finally {
    cancel();
  }
}

/** As client-go releases: a candidate that compares timestamps takes it after a second. */
function released({ clock }: Candidate, { transitions }: LeaseRecord): LeaseClaim {
  return { holder: '', durationSeconds: 1, nowMs: clock.nowMs(), transitions, takesOver: false };
}
