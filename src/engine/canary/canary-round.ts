/** One observation of a Canary, and what follows from it. */

import type { Canary } from '../../api/canary/canary.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { conditionOf, namespacedName, objectKey } from '../../api/kubernetes.ts';
import { soonest } from '../../api/time.ts';
import type { Action, Decision } from '../../rollout/outcome.ts';
import type { World } from '../../rollout/world.ts';
import { checkSubject } from '../checks/checks.ts';
import { type Correction, describeLast } from '../corrections.ts';
import { type Failure, failureOf, isStale, joinFailures, unlessLasting } from '../failure.ts';
import { emitFailure, type RoundState, report, saveStatus } from './canary-report.ts';
import type { CanaryParts } from './context/context.ts';
import { entryOf } from './context/observation.ts';
import type { Deletion } from './deletions.ts';
import { observe, watchWaitMs } from './observe/observe.ts';
import { describeAction, joinActionFailures } from './perform/action-text.ts';
import { adjustFinalizer } from './perform/finalizer.ts';
import { keepsStatus, withoutUndone } from './perform/order.ts';
import { type Limits, type Performed, performAll } from './perform/perform.ts';
import { sourceWriter } from './perform/write.ts';
import { deletionFreshMsOf, readWhole } from './reading-anew.ts';
import type { CanaryInForce } from './status/spec-in-force.ts';
import { specNotices } from './status/spec-notices.ts';
import { isReported } from './status/status.ts';
import type { Contention, Pause, Written } from './write-pace.ts';

/**
 * Watch events of this time become one round, and after a status alone the next one waits as long: pods that become ready one after the other
 * are told of at once.
 */
export const gatherMs = 100;

/** How a round ended. */
interface RoundEnd {
  /** As written last. */
  readonly canary: Canary;
  /** Something was written but the status, or may have changed: look again at once. */
  readonly again: boolean;
  /** Look again after this time; undefined: only when something changes. */
  readonly afterMs?: number | undefined;
  /** What was written but the status; none: nothing. */
  readonly wrote?: readonly Written[];
  /** What could not be done; it was reported. */
  readonly failure?: Failure | undefined;
  /** The step whose move of traffic that was. */
  readonly failedAt?: string | undefined;
  /** The Canary is being deleted, and its finalizer was removed. */
  readonly isFinalized?: boolean;
}

/** The result of the first write of a decision. */
interface Intent {
  readonly written?: Canary | undefined;
  readonly failure?: Failure;
}

/** What is known of the rounds before. */
interface Before {
  readonly failure: Failure | undefined;
  /** Since when something could not be done in each of them; undefined: all was. */
  readonly failingSinceMs: number | undefined;
  /** The step whose move of traffic it was. */
  readonly failedAt: string | undefined;
  /** Undefined: the Canary is not being deleted. */
  readonly deletion: Deletion | undefined;
  /** Undefined: nobody undoes what is written. */
  readonly contention: Contention | undefined;
  /** Actions that somebody undoes, and that wait. */
  readonly paused: Pause;
}

/**
 * Observe, decide, write the intent, act, write the status. Throws a conflict or StaleView where the cluster changed since it was observed, and
 * errors of observing and of writing the status.
 */
export async function runRound(
  parts: CanaryParts,
  inForce: CanaryInForce,
  before: Before,
): Promise<RoundEnd> {
  const { canary } = inForce;
  const observed = await observe(parts, canary);
  if (observed.kind === 'waiting') return { canary, again: false, afterMs: watchWaitMs };
  const finalizer = await tryFinalizer(parts, canary);
  if (finalizer.wrote) return { canary, again: true };
  parts.outbox.send(canary);
  const { deletion } = before;
  const deletingSinceMs = deletion?.sinceMs;
  const unwritten = deletion?.unwritten ? { status: deletion.unwritten } : {};
  const contention = before.contention && {
    message: before.contention.failure.message,
    sinceMs: before.contention.sinceMs,
  };
  const corrections = correctionsOf(parts, canary);
  const world = { ...observed.observation.world, ...unwritten, deletingSinceMs, contention, corrections };
  const observation = { ...observed.observation, world };
  const { nowMs, rejectionsProblem } = world;
  const decision = parts.step(world);
  if (await readWhole(parts, observation, decision)) return { canary, again: true };
  const status = parts.outbox.answered(canary, decision.status);
  // Where the Secret with the rejections is damaged, only the status says what was rejected.
  const damaged =
    rejectionsProblem === undefined
      ? undefined
      : { reason: 'RejectionsDamaged', message: rejectionsProblem, transient: false };
  const key = namespacedName(canary);
  const findings = {
    notices: specNotices(parts, canary),
    reproduced: parts.afterRevert.conditionOf(key, status),
    others: parts.afterRevert.othersOf(key, status),
    written: parts.writtenToGit(key),
    nowMs,
  };
  const persistentFailure = joinFailures([inForce.invalid, damaged, before.contention?.failure]);
  const round = { parts, inForce, observation, decision, status, findings, persistentFailure };
  return act(round, before, finalizer.failure);
}

/**
 * A finalizer that cannot be written keeps nothing back, least of all a revert (ADR 31), but for the first release: no traffic is moved before it
 * can be handed back.
 */
async function tryFinalizer(
  parts: CanaryParts,
  canary: Canary,
): Promise<{ readonly wrote: boolean; readonly failure?: Failure }> {
  try {
    return { wrote: await adjustFinalizer(parts, canary) };
  } catch (error) {
    if (isStale(error) || canary.status?.lastKnownGood === undefined) throw error;
    return { wrote: false, failure: failureOf(error) };
  }
}

async function act(round: RoundState, before: Before, refused: Failure | undefined): Promise<RoundEnd> {
  const { parts, decision, observation, persistentFailure } = round;
  const intent = await writeIntent(round, before.failure);
  const limits = { hasIntent: intent.failure === undefined, paused: before.paused.types };
  const acted = await performTelling(round, limits);
  const inPlace = observation.world.sharesWorkload === true;
  const failed = joinFailures([refused, intent.failure, joinActionFailures(acted, inPlace)]);
  const step = stepOf(decision);
  const isMoveRefused = acted.failures.some(({ action }) => action.type === 'SetTraffic');
  // After a check that passed, traffic is moved once; a refused move is tried again after the next check, and is what the release waits for until then.
  const waitsForMove =
    before.failedAt === step && !decision.actions.some(({ type }) => type === 'SetTraffic');
  const failedAt = isMoveRefused || waitsForMove ? step : undefined;
  const failure = unlessLasting(failed ?? (waitsForMove && step ? before.failure : undefined), {
    sinceMs: before.failingSinceMs,
    nowMs: observation.world.nowMs,
    stalled: conditionOf(round.inForce.canary.status, 'Stalled'),
  });
  const canary = intent.written ?? round.inForce.canary;
  const isRemoval = ({ type }: Action) => type === 'RemoveFinalizer';
  if (!failure && decision.actions.some(isRemoval) && !acted.undone.some(isRemoval))
    return { canary, again: false, isFinalized: true };
  const saved = intent.failure
    ? await report(parts, canary, joinFailures([persistentFailure, failure]) ?? intent.failure)
    : await remembering(before.deletion, decision.status, () => conclude(round, canary, acted, failure));
  startBackgroundChecks(round);
  const { wakeAfterMs } = decision;
  const deletionMs = deletionFreshMsOf(canary);
  const pauseMs = soonest(before.paused.endsInMs, before.contention?.endsInMs);
  const calmsInMs = memoryOf(parts, canary).calmsInMs(parts.clock.nowMs());
  const toldMs = saved && gatherMs;
  const afterMs = soonest(wakeAfterMs, observation.againMs, deletionMs, pauseMs, calmsInMs, toldMs);
  const wrote = acted.written.map(({ action, objects }) => {
    return { type: action.type, what: describeAction(action, inPlace), objects };
  });
  const again = wrote.length > 0 || intent.written !== undefined;
  return { canary: saved ?? canary, again, afterMs, wrote, failure, failedAt };
}

/** What was put back is told also where a later action finds that the cluster has changed. */
async function performTelling(round: RoundState, limits: Limits): Promise<Performed> {
  const { parts, observation, decision } = round;
  const corrections: Correction[] = [];
  const corrected = (correction: Correction) => void corrections.push(correction);
  try {
    return await performAll({ parts, observation, corrected }, decision.actions, limits);
  } finally {
    tellCorrections(round, corrections);
  }
}

const memoryOf = (parts: CanaryParts, canary: Canary) =>
  entryOf(parts.drift, namespacedName(canary)).corrections;

function correctionsOf(parts: CanaryParts, canary: Canary): World['corrections'] {
  const memory = memoryOf(parts, canary);
  const last = memory.last();
  return last && { last: describeLast(last), contended: memory.contended(parts.clock.nowMs()) };
}

/** Whoever looks for the cause of failed requests finds it, though it is over. What others change again and again the condition tells. */
function tellCorrections({ parts, inForce, status }: RoundState, corrections: readonly Correction[]): void {
  if (corrections.length === 0) return;
  const { canary } = inForce;
  parts.onCorrected?.(namespacedName(canary), corrections.length);
  const memory = memoryOf(parts, canary);
  const nowMs = parts.clock.nowMs();
  const isNews = corrections.some(({ object }) => !memory.isContended(objectKey(object), nowMs));
  memory.note(corrections, nowMs);
  if (!isNews) return;
  const message = `put back what others had changed: ${corrections.map((one) => one.message).join('; ')}`;
  const event = { type: 'Warning', reason: 'DriftCorrected', message } as const;
  parts.events.emit(canary, event);
  parts.eventHooks.emit(canary, status, event);
}

/** Where a release is between two checks; undefined: none is under way. */
function stepOf({ status: { run, phase, canaryWeight, failedChecks } }: Decision): string | undefined {
  return run && JSON.stringify([run.digest, run.lastCheckTime, phase, canaryWeight, failedChecks]);
}

/** Checks and comparisons that run in the background do not wait for what could not be done. */
function startBackgroundChecks({ parts, observation, decision, status }: RoundState): void {
  parts.afterRevert.compareOnce(
    observation.world,
    status,
    parts.heads.of(namespacedName(observation.canary)).at,
  );
  if (!decision.check) return;
  const writer = sourceWriter(parts, observation.canary);
  const subject = checkSubject({ ...observation, writer }, decision.check);
  parts.checks.request(observation.canary, decision.check, subject);
}

/** Before an action that cannot be undone, the status with its intent is written. A refusal blocks only such actions; a conflict is thrown. */
async function writeIntent(round: RoundState, before: Failure | undefined): Promise<Intent> {
  if (!round.decision.intentFirst) return {};
  try {
    return { written: await saveStatus(round, round.inForce.canary, before) };
  } catch (error) {
    if (isStale(error)) throw error;
    return { failure: failureOf(error) };
  }
}

/**
 * What a deletion waits for is known without the status, too: it may be refused until the end, with whatever code (an admission webhook may
 * answer 409), or a CRD drops the fields.
 */
async function remembering<T>(
  deletion: Deletion | undefined,
  decided: CanaryStatus,
  write: () => Promise<T>,
): Promise<T> {
  try {
    const written = await write();
    if (deletion) deletion.unwritten = undefined;
    return written;
  } catch (error) {
    if (deletion) deletion.unwritten = decided;
    throw error;
  }
}

/** Writes the status after the actions, as far as they were done, with the failure of the others. */
async function conclude(
  round: RoundState,
  canary: Canary,
  { undone }: Performed,
  failure: Failure | undefined,
): Promise<Canary | undefined> {
  const status = withoutUndone(round.status, canary.status ?? {}, undone);
  const events = keepsStatus(undone) ? [] : round.decision.events;
  const saved = await saveStatus(
    { ...round, status, decision: { ...round.decision, events } },
    canary,
    failure,
  );
  if (failure && !isReported(canary.status, failure)) emitFailure(round.parts, canary, failure);
  return saved;
}
