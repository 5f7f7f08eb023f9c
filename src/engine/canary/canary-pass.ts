import type { Canary } from '../../api/canary/canary.ts';
import { awaitsFinalizer } from '../../api/flagger.ts';
import { conditionOf, type KubernetesObject, namespacedName, referenceOf } from '../../api/kubernetes.ts';
import { type Failure, failureOf, isStale, joinFailures, unlessLasting } from '../failure.ts';
import type { Pass, PassResult } from '../work-queue.ts';
import { report, reportUndecided } from './canary-report.ts';
import { runRound } from './canary-round.ts';
import type { CanaryParts } from './context/context.ts';
import { createDeletions } from './deletions.ts';
import { readAnew } from './reading-anew.ts';
import { type CanaryInForce, canaryInForce, canaryToTell } from './status/spec-in-force.ts';
import { reportDueMs } from './status/stopped.ts';
import { contentionOf, createWritePace } from './write-pace.ts';

/** Rounds in one pass; a Canary that needs more goes to the end of the queue (L8). */
const maximumRounds = 10;
/** After two stale observations in a row the watches get this time to deliver the change. */
const staleWaitMs = 200;
/** After so many such waits in a row, in which everything was read anew, an answer that something changed is a refusal, as by a webhook (409). */
const mostStaleWaits = 60;

/** How a round ended: look again at once, later, or only when something changes; and what could not be done in it. */
type Round =
  | { readonly again: true; readonly stale?: boolean; readonly failure?: Failure | undefined }
  | { readonly again: false; readonly afterMs: number | undefined; readonly failure?: Failure | undefined };

/**
 * One pass over one Canary: observe, decide, write the intent, act, write the status; repeated until nothing is left to do. What failed is
 * reported and retried with back-off, and blocks only what depends on it. Throws, after reporting it, an error that let nothing be done.
 */
export function createCanaryPass(parts: CanaryParts): Pass {
  const failures = createFailures(parts);
  // Uids by key: the cache may still show a Canary whose finalizer was removed, and what is written for it then would be garbage collected.
  const finalized = new Map<string, string | undefined>();
  const deletions = createDeletions(parts);
  const pace = createWritePace(parts.clock);
  const waits = createWaits(parts);

  async function pass(key: string, looks: () => void): Promise<PassResult> {
    let staleBefore = false;
    let failure: Failure | undefined;
    for (let round = 0; round < maximumRounds; round += 1) {
      // What a round writes asks for the Canary, too: the next round sees that, and no other pass has to.
      looks();
      const object = parts.canaries.get(key);
      if (!object || isOver(key, object)) return end(key, object);
      const result = await guarded(key, object);
      failure = result.failure;
      if (!result.again) return { againAfterMs: result.afterMs, failure };
      if (result.stale && staleBefore) return waits.wait(key, object);
      staleBefore = result.stale === true;
    }
    return { againAfterMs: failure ? undefined : 0, failure };
  }

  function end(key: string, object: KubernetesObject | undefined): PassResult {
    for (const known of [failures, waits, deletions, pace]) known.delete(key);
    if (!object) finalized.delete(key);
    parts.checks.forget(key);
    parts.outbox.forget(key);
    parts.drift.delete(key);
    parts.heads.forgetCanary(key);
    for (const known of [parts.liveHeads, parts.lostRecords]) known.forget(key);
    return { againAfterMs: undefined };
  }

  function isOver(key: string, object: KubernetesObject): boolean {
    const { deletionTimestamp, uid } = object.metadata;
    return deletionTimestamp !== undefined && (!awaitsFinalizer(object) || finalized.get(key) === uid);
  }

  function noteFinalized(object: KubernetesObject): Round {
    finalized.set(namespacedName(object), object.metadata.uid);
    return { again: false, afterMs: undefined };
  }

  /** Turns failures into conditions, and stale observations into another round. */
  async function guarded(key: string, object: KubernetesObject): Promise<Round> {
    const pauseMs = deletions.pauseMs(key, object);
    if (pauseMs > 0) return { again: false, afterMs: pauseMs };
    const read = canaryInForce(parts, object);
    if ('failure' in read) return unreadable(key, object, read.failure);
    try {
      return await attempt(key, read);
    } catch (error) {
      const isRefusal = waits.isOver(key) || deletions.isOverdue(key, object);
      if (isStale(error) && !isRefusal) return refresh(parts, object);
      const failure = failureOf(error);
      if (awaitsFinalizer(object)) return retryDeletion(key, read.canary, failure);
      const noted = failures.note(key, failure, read.canary);
      await reportUndecided(parts, read.canary, joinFailures([read.invalid, noted]) ?? noted);
      throw error;
    }
  }

  async function unreadable(key: string, object: KubernetesObject, failure: Failure): Promise<Round> {
    if (awaitsFinalizer(object)) return retryDeletion(key, object, failure);
    const canary = canaryToTell(object);
    if (!canary) await report(parts, object as Canary, failure);
    else await reportUndecided(parts, canary, failure);
    return { again: false, afterMs: canary && reportDueMs(parts, canary, failure) };
  }

  async function retryDeletion(key: string, object: KubernetesObject, failure: Failure): Promise<Round> {
    const end = await deletions.failed(key, object, failure);
    return end.isFinalized ? noteFinalized(object) : { again: false, ...end };
  }

  async function attempt(key: string, inForce: CanaryInForce): Promise<Round> {
    const contention = await contentionOf(parts.cluster, pace, key);
    const deletion = deletions.of(key, inForce.canary);
    const before = { ...failures.of(key), deletion, contention, paused: pace.pause(key) };
    const end = await runRound(parts, inForce, before);
    const { canary, failure, failedAt, wrote = [] } = end;
    // Its status alone may change with each pod that becomes ready.
    pace.wrote(key, wrote);
    if (failure) failures.note(key, failure, canary, failedAt);
    else for (const known of [failures, waits]) known.delete(key);
    if (end.isFinalized) return noteFinalized(canary);
    if (failure && awaitsFinalizer(canary) && (wrote.length === 0 || deletions.isOverdue(key, canary)))
      return retryDeletion(key, canary, failure);
    return end.again ? { again: true, failure } : { again: false, afterMs: end.afterMs, failure };
  }

  return pass;
}

/** What could not be done for a Canary, and since when something could not in each round. */
function createFailures({ clock }: Pick<CanaryParts, 'clock'>) {
  type Known = { readonly failure: Failure; readonly sinceMs: number; readonly failedAt: string | undefined };
  const known = new Map<string, Known>();
  return {
    of(key: string) {
      const { failure, sinceMs, failedAt } = known.get(key) ?? {};
      return { failure, failingSinceMs: sinceMs, failedAt };
    },
    /** Gives it back, as it counts after that time. */
    note(key: string, failure: Failure, { status }: Pick<Canary, 'status'>, failedAt?: string): Failure {
      const nowMs = clock.nowMs();
      const sinceMs = known.get(key)?.sinceMs ?? nowMs;
      known.set(key, { failure, sinceMs, failedAt });
      return unlessLasting(failure, { sinceMs, nowMs, stalled: conditionOf(status, 'Stalled') });
    },
    delete: (key: string) => known.delete(key),
  };
}

/** How often in a row the watches did not deliver a change in `staleWaitMs`. */
function createWaits(parts: CanaryParts) {
  const counts = new Map<string, number>();
  return {
    isOver: (key: string) => (counts.get(key) ?? 0) >= mostStaleWaits,
    /** What does not come in time is lost: writing over it again and again would be refused for half an hour. */
    async wait(key: string, object: KubernetesObject): Promise<PassResult> {
      const before = counts.get(key) ?? 0;
      if (before > 0) await readAnew(parts, object);
      counts.set(key, before + 1);
      return { againAfterMs: staleWaitMs };
    },
    delete: (key: string) => void counts.delete(key),
  };
}

/** The Canary itself may be what changed; the watches bring the rest. */
async function refresh({ cluster, canaries }: CanaryParts, object: KubernetesObject): Promise<Round> {
  const fresh = await cluster.get(referenceOf(object));
  if (fresh) canaries.remember(fresh);
  return { again: true, stale: true };
}
