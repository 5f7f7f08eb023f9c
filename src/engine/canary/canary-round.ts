/** One observation of a Canary, and what follows from it. */

import type { Canary } from '../../api/canary/canary.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { namespacedName } from '../../api/kubernetes.ts';
import type { Decision } from '../../rollout/outcome.ts';
import { checkSubject } from '../checks/checks.ts';
import { type Failure, failureOf, isStale } from '../failure.ts';
import { findCondition, type News } from '../status-patch.ts';
import type { CanaryParts } from './context/context.ts';
import { seeAnew } from './context/namespace-view.ts';
import type { Observation } from './context/observation.ts';
import { observe } from './observe/observe.ts';
import { joinActionFailures } from './perform/action-text.ts';
import { adjustFinalizer } from './perform/finalizer.ts';
import { type Performed, performAll } from './perform/perform.ts';
import { sourceWriter } from './perform/write.ts';
import type { CanaryInForce } from './status/spec-in-force.ts';
import { specNotices } from './status/spec-notices.ts';
import {
  type EngineFindings,
  isReported,
  joinFailures,
  keepsStatus,
  newsOf,
  withEngineConditions,
  withoutUndone,
  writeStatus,
} from './status/status.ts';
import { kindsOf } from './status/watched-kinds.ts';

/** A watch event ends the wait earlier; this only covers a lost one. */
const watchWaitMs = 2_000;
/** What was read whole so long ago is fresh enough to give a release up. */
const finalFreshMs = 10_000;
/** While a Canary is being deleted, everything is read whole this often. */
const deletionFreshMs = 30_000;

/** How a round ended. */
interface RoundEnd {
  /** As written last. */
  readonly canary: Canary;
  /** Something was written, be it the status: look again at once. */
  readonly again: boolean;
  /** Look again after this time; undefined: only when something changes. */
  readonly afterMs?: number | undefined;
  /** An action wrote something. */
  readonly wrote?: boolean;
  /** What could not be done; it was reported. */
  readonly failure?: Failure | undefined;
  /** The Canary is being deleted, and its finalizer was removed. */
  readonly isFinalized?: boolean;
}

/** What was observed of a Canary, and what was decided on it. */
interface RoundState {
  readonly parts: CanaryParts;
  readonly inForce: CanaryInForce;
  readonly observation: Observation;
  readonly decision: Decision;
  /** As decided, with the answers that came since. */
  readonly status: CanaryStatus;
  readonly findings: EngineFindings;
  /** A problem that stays until somebody fixes it, and that blocks nothing. */
  readonly persistentFailure: Failure | undefined;
}

/** The result of the first write of a decision. */
interface Intent {
  readonly written?: Canary | undefined;
  readonly failure?: Failure;
}

/**
 * Observe, decide, write the intent, act, write the status. `before`: the failure of the last round, and since when the Canary is being
 * deleted. Throws a conflict or StaleView where the cluster changed since it was observed, and errors of observing and of writing the status.
 */
export async function runRound(
  parts: CanaryParts,
  inForce: CanaryInForce,
  before: { readonly failure: Failure | undefined; readonly deletingSinceMs: number | undefined },
): Promise<RoundEnd> {
  const { canary } = inForce;
  const observed = await observe(parts, canary);
  if (observed.kind === 'waiting') return { canary, again: false, afterMs: watchWaitMs };
  if (await adjustFinalizer(parts, canary)) return { canary, again: true };
  parts.outbox.send(canary);
  const { deletingSinceMs } = before;
  const world = { ...observed.observation.world, deletingSinceMs };
  const observation = { ...observed.observation, world };
  const { nowMs, rejectionsProblem } = world;
  const decision = parts.step(world);
  // How old a view may be, where watches alone do not do.
  const freshMs = isFinal(world.status, decision) ? finalFreshMs : deletionFreshMsOf(world.canary);
  if (freshMs !== undefined) {
    const kinds = kindsOf(observation.canary, parts);
    if (await seeAnew(parts.clock, observation.view, { freshMs, kinds })) return { canary, again: true };
  }
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
  const persistentFailure = joinFailures([inForce.invalid, damaged]);
  return act({ parts, inForce, observation, decision, status, findings, persistentFailure }, before.failure);
}

/** A deletion needs time for what follows when it learns of a lost event. */
function deletionFreshMsOf({ metadata }: Canary): number | undefined {
  return metadata.deletionTimestamp === undefined ? undefined : deletionFreshMs;
}

/**
 * Whether a release is rejected, held or taken back, a person is called, or a Canary that is deleted let go of: by what was observed, which
 * may be less than there is (S19).
 */
function isFinal(before: CanaryStatus, { status: after, actions }: Decision): boolean {
  const isKnown = ({ digest, time }: { digest: string; time: string }) =>
    before.rejected?.some((known) => known.digest === digest && known.time === time) === true;
  const state = after.postPromotion?.state;
  const isGivenUp = state === 'Held' || state === 'Reverting';
  return (
    actions.some(({ type }) => type === 'RemoveFinalizer') ||
    (isGivenUp && state !== before.postPromotion?.state) ||
    (asksForPerson(after) && !asksForPerson(before)) ||
    after.rejected?.some((one) => !isKnown(one)) === true
  );
}

function asksForPerson({ conditions }: CanaryStatus): boolean {
  return findCondition(conditions, 'Stalled')?.status === 'True';
}

async function act(round: RoundState, before: Failure | undefined): Promise<RoundEnd> {
  const { parts, decision, observation, persistentFailure } = round;
  const intent = await writeIntent(round, before);
  const acted = await performAll({ parts, observation }, decision.actions, intent.failure === undefined);
  const inPlace = observation.world.sharesWorkload === true;
  const failure = joinFailures([intent.failure, joinActionFailures(acted.failures, inPlace)]);
  const canary = intent.written ?? round.inForce.canary;
  if (!failure && decision.actions.some(({ type }) => type === 'RemoveFinalizer'))
    return { canary, again: false, isFinalized: true };
  const saved = intent.failure
    ? await report(parts, canary, joinFailures([persistentFailure, failure]) ?? intent.failure)
    : await conclude(round, canary, acted, failure);
  startBackgroundChecks(round);
  const waits = [decision.wakeAfterMs, observation.againMs, deletionFreshMsOf(canary)].filter(
    (ms) => ms !== undefined,
  );
  const afterMs = waits.length > 0 ? Math.min(...waits) : undefined;
  const again = acted.wrote || intent.written !== undefined || saved !== undefined;
  return { canary: saved ?? canary, again, afterMs, wrote: acted.wrote, failure };
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
  if (failure) emitFailure(round.parts, canary, failure);
  return saved;
}

/** Events follow the write that makes them true; a decision that changes nothing emits nothing again. */
async function saveStatus(
  { parts, inForce, decision, findings, persistentFailure, status }: RoundState,
  canary: Canary,
  failed: Failure | undefined,
): Promise<Canary | undefined> {
  const failure = joinFailures([persistentFailure, failed]);
  const reported = withEngineConditions(canary, withWriter(parts, canary, status), { ...findings, failure });
  const whole = { ...reported, specInForce: inForce.specInForce };
  const written = await writeStatus(parts, canary, whole);
  if (!written) return undefined;
  emitNews(parts, { canary, status: whole }, newsOf(canary.status, whole, decision.events));
  if (persistentFailure && failure && !isReported(canary.status, failure))
    emitFailure(parts, canary, persistentFailure);
  return written;
}

/** The release under way with the user that it is written as. */
function withWriter(parts: CanaryParts, canary: Canary, status: CanaryStatus): CanaryStatus {
  const { run } = status;
  if (!run) return status;
  return { ...status, run: { ...run, account: sourceWriter(parts, canary, run.digest)?.account } };
}

/** Reports a failure as condition and Event; logs it where the status cannot be written. Returns the Canary as written, if it was. */
export async function report(
  parts: CanaryParts,
  canary: Canary,
  failure: Failure,
): Promise<Canary | undefined> {
  const { generation } = canary.metadata;
  const observed = {
    ...canary.status,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  const status = withEngineConditions(canary, observed, { failure, nowMs: parts.clock.nowMs() });
  emitFailure(parts, canary, failure);
  try {
    return await writeStatus(parts, canary, status);
  } catch (error) {
    parts.log.warn({ err: error, canary: namespacedName(canary) }, 'could not write the status of a Canary');
    return undefined;
  }
}

function emitFailure({ events }: CanaryParts, canary: Canary, { reason, message }: Failure): void {
  events.emit(canary, { type: 'Warning', reason, message });
}

function emitNews(
  { events, eventHooks }: CanaryParts,
  { canary, status }: { canary: Canary; status: CanaryStatus },
  news: readonly News[],
): void {
  for (const event of news) {
    events.emit(canary, event);
    eventHooks.emit(canary, status, event);
  }
}
