import type { Canary } from '../../api/canary.ts';
import type { CanaryStatus } from '../../api/canary-status.ts';
import { type KubernetesObject, referenceOf } from '../../api/kubernetes.ts';
import type { Decision } from '../../rollout/action.ts';
import type { News } from '../conditions.ts';
import { type Failure, failureOf, isStale } from '../failure.ts';
import { observe } from '../observe/observe.ts';
import { performAll } from '../perform/perform.ts';
import type { PassResult } from '../work-queue.ts';
import { readCanary } from './canary-check.ts';
import { afterFailedDeletion } from './canary-deletion.ts';
import type { CanaryParts, Observation } from './canary-parts.ts';
import { type EngineFindings, newsOf, withEngineConditions, writeStatus } from './canary-status.ts';
import { checkSubject } from './check-subject.ts';
import { keyOf } from './checks.ts';
import { adjustFinalizer, waitsForUs } from './finalizer.ts';
import { specNotices } from './spec-notices.ts';

/** Looks and decisions in one pass; a Canary that is busier than this comes back at the end of the queue (L8). */
const maximumRounds = 10;
/** A watch event ends the wait earlier; this only covers a lost one. */
const watchWaitMs = 2_000;
/** When the world changes faster than it is looked at, the watches get this time to bring the change. */
const staleWaitMs = 200;

/** Ends of a round: look again at once, come back later, or nothing to do until something changes. */
type Round =
  | { readonly again: true; readonly stale?: boolean }
  | { readonly again: false; readonly afterMs: number | undefined };

/**
 * One pass over one Canary: observe, decide, write the intent, act, write the status; again until nothing is left to do. Throws after
 * having told people when an action failed; the queue then comes back with back-off.
 */
export function createCanaryPass(parts: CanaryParts): (key: string) => Promise<PassResult> {
  const failures = new Map<string, Failure>();
  // Uids by key: the cache may still show a Canary that was let go, and what is written for it then would be garbage collected.
  const letGo = new Map<string, string | undefined>();

  async function pass(key: string): Promise<PassResult> {
    let staleBefore = false;
    for (let round = 0; round < maximumRounds; round += 1) {
      const object = parts.canaries.get(key);
      if (!object || isOver(key, object)) return end(key, object);
      const result = await guarded(key, object);
      if (!result.again) return { againAfterMs: result.afterMs };
      if (result.stale && staleBefore) return { againAfterMs: staleWaitMs };
      staleBefore = result.stale === true;
    }
    return { againAfterMs: 0 };
  }

  function end(key: string, object: KubernetesObject | undefined): PassResult {
    failures.delete(key);
    if (!object) letGo.delete(key);
    forget(parts, key);
    return { againAfterMs: undefined };
  }

  function isOver(key: string, object: KubernetesObject): boolean {
    const { deletionTimestamp, uid } = object.metadata;
    return deletionTimestamp !== undefined && (!waitsForUs(object) || letGo.get(key) === uid);
  }

  function noteLetGo(object: KubernetesObject): Round {
    letGo.set(keyOf(object), object.metadata.uid);
    return { again: false, afterMs: undefined };
  }

  /** Turns failures into conditions, and stale looks into another round. */
  async function guarded(key: string, object: KubernetesObject): Promise<Round> {
    const read = readCanary(parts, object);
    if ('failure' in read) {
      if (waitsForUs(object)) return retryDeletion(object, read.failure);
      await report(parts, object as Canary, read.failure);
      return { again: false, afterMs: undefined };
    }
    try {
      return await oneRound(read.canary, failures.get(key));
    } catch (error) {
      if (isStale(error)) return lookAnew(parts, object);
      const failure = refusalOf(error) ?? failureOf(error);
      if (waitsForUs(object)) return retryDeletion(object, failure);
      failures.set(key, failure);
      await report(parts, read.canary, failure);
      throw error;
    }
  }

  async function retryDeletion(object: KubernetesObject, failure: Failure): Promise<Round> {
    const afterMs = await afterFailedDeletion(parts, object, failure);
    return afterMs === undefined ? noteLetGo(object) : { again: false, afterMs };
  }

  async function oneRound(canary: Canary, failure: Failure | undefined): Promise<Round> {
    const observed = await observe(parts, canary);
    if (observed.kind === 'waiting') return { again: false, afterMs: watchWaitMs };
    const { observation } = observed;
    if (await adjustFinalizer(parts, canary)) return { again: true };
    parts.outbox.send(canary);
    const decision = parts.step(observation.world);
    const { nowMs } = observation.world;
    const status = parts.outbox.answered(canary, decision.status);
    const findings = findingsOf(parts, canary, status, nowMs);
    const intended = decision.intentFirst
      ? await save(observation, withEngineConditions(canary, status, { ...findings, failure }), decision)
      : undefined;
    const acted = await performAll({ parts, observation }, decision.actions);
    failures.delete(keyOf(canary));
    if (decision.actions.some(({ type }) => type === 'RemoveFinalizer')) return noteLetGo(canary);
    const current = intended ? { ...observation, canary: intended } : observation;
    const saved = await save(current, withEngineConditions(canary, status, findings), decision);
    parts.afterRevert.look(observation.world, status);
    if (decision.check)
      parts.checks.request(observation.canary, decision.check, checkSubject(observation, decision.check));
    if (acted || intended || saved) return { again: true };
    return { again: false, afterMs: decision.wakeAfterMs };
  }

  /** News follows the write that makes it true; a decision that changes nothing says nothing again. */
  async function save(
    { canary }: Observation,
    status: CanaryStatus,
    { events }: Decision,
  ): Promise<Canary | undefined> {
    const written = await writeStatus(parts, canary, status);
    if (written) tell(parts, { canary, status }, newsOf(canary.status, status, events));
    return written;
  }

  return pass;
}

/** A failure as condition and event; one that cannot be written is logged. */
async function report(parts: CanaryParts, canary: Canary, failure: Failure): Promise<void> {
  const status = withEngineConditions(canary, canary.status ?? {}, { failure, nowMs: parts.clock.nowMs() });
  try {
    await writeStatus(parts, canary, status);
  } catch (error) {
    parts.log.warn({ err: error, canary: keyOf(canary) }, 'could not write the status of a Canary');
  }
  parts.events.emit(canary, { type: 'Warning', reason: failure.reason, message: failure.message });
}

function tell(
  { events, eventHooks }: CanaryParts,
  { canary, status }: { canary: Canary; status: CanaryStatus },
  news: readonly News[],
): void {
  for (const event of news) {
    events.emit(canary, event);
    eventHooks.emit(canary, status, event);
  }
}

/** What others found out about a Canary beside its rollout. */
function findingsOf(parts: CanaryParts, canary: Canary, status: CanaryStatus, nowMs: number): EngineFindings {
  const key = keyOf(canary);
  const reproduced = parts.afterRevert.conditionOf(key, status);
  const others = parts.afterRevert.othersOf(key, status);
  const notices = specNotices(parts, canary);
  return { notices, reproduced, others, written: parts.writtenToGit(key), nowMs };
}

/** The Canary itself may be what changed; the watches bring the rest. */
async function lookAnew(parts: CanaryParts, object: KubernetesObject): Promise<Round> {
  const fresh = await parts.cluster.get(referenceOf(object));
  if (fresh) parts.canaries.remember(fresh);
  return { again: true, stale: true };
}

function forget(parts: CanaryParts, key: string): void {
  parts.checks.forget(key);
  parts.outbox.forget(key);
  parts.drift.delete(key);
  parts.heads.setLive(key, undefined);
  parts.liveHeads.forget(key);
}

/** What a builder refused, as a failure that only the author can end. */
function refusalOf(error: unknown): Failure | undefined {
  const refusal = (error as { refusal?: { reason?: unknown } } | null)?.refusal;
  if (typeof refusal?.reason !== 'string' || !(error instanceof Error)) return undefined;
  return { reason: refusal.reason, message: error.message, transient: false };
}
