/** One look at a Canary, and what follows of it. */
import type { Canary } from '../../api/canary/canary.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import type { Decision } from '../../rollout/action.ts';
import { checkSubject, namespacedName } from '../checks/checks.ts';
import { type Failure, failureOf, isStale } from '../failure.ts';
import type { News } from '../status-patch.ts';
import type { CanaryParts, Observation } from './context/context.ts';
import { observe } from './observe/observe.ts';
import { joinActionFailures } from './perform/action-order.ts';
import { adjustFinalizer } from './perform/finalizer.ts';
import { type Performed, performAll } from './perform/perform.ts';
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

/** A watch event ends the wait earlier; this only covers a lost one. */
const watchWaitMs = 2_000;

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
  /** What could not be done; people were told. */
  readonly failure?: Failure | undefined;
  /** The Canary, which is being deleted, may go. */
  readonly isLetGo?: boolean;
}

/** One look at a Canary and what was decided on it. */
interface Look {
  readonly parts: CanaryParts;
  readonly inForce: CanaryInForce;
  readonly observation: Observation;
  readonly decision: Decision;
  /** As decided, with the answers that came since. */
  readonly status: CanaryStatus;
  readonly findings: EngineFindings;
  /** What is wrong as long as nobody mends it, and holds nothing up. */
  readonly standing: Failure | undefined;
}

/** What became of the first write of a decision. */
interface Intent {
  readonly written?: Canary | undefined;
  readonly failure?: Failure;
}

/**
 * Observe, decide, write the intent, act, write the status. `before`: what could not be done in the last round. Throws a conflict or
 * StaleView where the world is another one, and what keeps it from being looked at, or its status from being written.
 */
export async function runRound(
  parts: CanaryParts,
  inForce: CanaryInForce,
  before: Failure | undefined,
): Promise<RoundEnd> {
  const { canary } = inForce;
  const observed = await observe(parts, canary);
  if (observed.kind === 'waiting') return { canary, again: false, afterMs: watchWaitMs };
  if (await adjustFinalizer(parts, canary)) return { canary, again: true };
  parts.outbox.send(canary);
  return act(lookOf(parts, inForce, observed.observation), before);
}

function lookOf(parts: CanaryParts, inForce: CanaryInForce, observation: Observation): Look {
  const { canary } = inForce;
  const decision = parts.step(observation.world);
  const status = parts.outbox.answered(canary, decision.status);
  const standing = joinFailures([inForce.invalid, rejectionsFailure(observation)]);
  const findings = findingsOf(parts, canary, status, observation.world.nowMs);
  return { parts, inForce, observation, decision, status, findings, standing };
}

async function act(look: Look, before: Failure | undefined): Promise<RoundEnd> {
  const { parts, decision, observation, standing } = look;
  const intent = await writeIntent(look, before);
  const acted = await performAll({ parts, observation }, decision.actions, intent.failure === undefined);
  const inPlace = observation.world.sharesWorkload === true;
  const failure = joinFailures([intent.failure, joinActionFailures(acted.failures, inPlace)]);
  const canary = intent.written ?? look.inForce.canary;
  if (!failure && decision.actions.some(({ type }) => type === 'RemoveFinalizer'))
    return { canary, again: false, isLetGo: true };
  const saved = intent.failure
    ? await report(parts, canary, joinFailures([standing, failure]) ?? intent.failure)
    : await conclude(look, canary, acted, failure);
  beside(look);
  const afterMs = soonest(decision.wakeAfterMs, observation.againMs);
  const again = acted.wrote || intent.written !== undefined || saved !== undefined;
  return { canary: saved ?? canary, again, afterMs, wrote: acted.wrote, failure };
}

/** What is asked beside the rollout does not wait for what could not be done. */
function beside({ parts, observation, decision, status }: Look): void {
  parts.afterRevert.look(observation.world, status, parts.heads.of(namespacedName(observation.canary)).at);
  if (decision.check)
    parts.checks.request(observation.canary, decision.check, checkSubject(observation, decision.check));
}

/** What cannot be taken back is in the status first. A refusal keeps back only that; a conflict is thrown. */
async function writeIntent(look: Look, before: Failure | undefined): Promise<Intent> {
  if (!look.decision.intentFirst) return {};
  try {
    return { written: await save(look, look.inForce.canary, before) };
  } catch (error) {
    if (isStale(error)) throw error;
    return { failure: failureOf(error) };
  }
}

/** The status after the actions, as far as they were done, and what stands in the way. */
async function conclude(
  look: Look,
  canary: Canary,
  { undone }: Performed,
  failure: Failure | undefined,
): Promise<Canary | undefined> {
  const status = withoutUndone(look.status, canary.status ?? {}, undone);
  const events = keepsStatus(undone) ? [] : look.decision.events;
  const saved = await save({ ...look, status, decision: { ...look.decision, events } }, canary, failure);
  if (failure) tellOf(look.parts, canary, failure);
  return saved;
}

/** News follows the write that makes it true; a decision that changes nothing says nothing again. */
async function save(
  { parts, inForce, decision, findings, standing, status }: Look,
  canary: Canary,
  failed: Failure | undefined,
): Promise<Canary | undefined> {
  const failure = joinFailures([standing, failed]);
  const told = withEngineConditions(canary, status, { ...findings, failure });
  const whole = { ...told, specInForce: inForce.specInForce };
  const written = await writeStatus(parts, canary, whole);
  if (!written) return undefined;
  tell(parts, { canary, status: whole }, newsOf(canary.status, whole, decision.events));
  if (standing && failure && !isReported(canary.status, failure)) tellOf(parts, canary, standing);
  return written;
}

/** A failure as condition and event; one that cannot be written is logged. Gives the Canary as written, if it was. */
export async function report(
  parts: CanaryParts,
  canary: Canary,
  failure: Failure,
): Promise<Canary | undefined> {
  const { generation } = canary.metadata;
  const looked = {
    ...canary.status,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  const status = withEngineConditions(canary, looked, { failure, nowMs: parts.clock.nowMs() });
  tellOf(parts, canary, failure);
  try {
    return await writeStatus(parts, canary, status);
  } catch (error) {
    parts.log.warn({ err: error, canary: namespacedName(canary) }, 'could not write the status of a Canary');
    return undefined;
  }
}

function tellOf({ events }: CanaryParts, canary: Canary, { reason, message }: Failure): void {
  events.emit(canary, { type: 'Warning', reason, message });
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
  const key = namespacedName(canary);
  const reproduced = parts.afterRevert.conditionOf(key, status);
  const others = parts.afterRevert.othersOf(key, status);
  const notices = specNotices(parts, canary);
  return { notices, reproduced, others, written: parts.writtenToGit(key), nowMs };
}

/** The status alone tells what was rejected then. */
function rejectionsFailure({ world }: Observation): Failure | undefined {
  const message = world.rejectionsProblem;
  return message === undefined ? undefined : { reason: 'RejectionsDamaged', message, transient: false };
}

function soonest(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}
