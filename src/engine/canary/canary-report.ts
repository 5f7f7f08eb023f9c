/** What a round reports: status, events and failures. */

import type { Canary } from '../../api/canary/canary.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { namespacedName } from '../../api/kubernetes.ts';
import type { Decision } from '../../rollout/outcome.ts';
import { type Failure, joinFailures } from '../failure.ts';
import { observedAt } from '../status-patch.ts';
import type { CanaryParts } from './context/context.ts';
import type { Observation } from './context/observation.ts';
import { sourceWriter } from './perform/write.ts';
import type { CanaryInForce } from './status/spec-in-force.ts';
import {
  type EngineFindings,
  isReported,
  newsOf,
  withEngineConditions,
  writeStatus,
} from './status/status.ts';
import { withStopped } from './status/stopped.ts';

/** What was observed of a Canary, and what was decided on it. */
export interface RoundState {
  readonly parts: CanaryParts;
  readonly inForce: CanaryInForce;
  readonly observation: Observation;
  readonly decision: Decision;
  /** As decided, with the answers that came since. */
  readonly status: CanaryStatus;
  readonly findings: EngineFindings;
  /** A problem that stays until a person fixes it, and that blocks nothing. */
  readonly persistentFailure: Failure | undefined;
}

/** Events follow the write that makes them true; a decision that changes nothing emits nothing again. */
export async function saveStatus(
  { parts, inForce, decision, findings, persistentFailure, status }: RoundState,
  canary: Canary,
  failed: Failure | undefined,
): Promise<Canary | undefined> {
  const failure = joinFailures([persistentFailure, failed]);
  const run = status.run && {
    ...status.run,
    account: sourceWriter(parts, canary, status.run.digest)?.account,
  };
  const withWriter = run ? { ...status, run } : status;
  const reported = withEngineConditions(canary, withWriter, { ...findings, failure, isDecided: true });
  const whole = { ...withStopped(parts, canary, reported, failure), specInForce: inForce.specInForce };
  const written = await writeStatus(parts, canary, whole);
  if (!written) return undefined;
  for (const event of newsOf(canary.status, whole, decision.events)) {
    parts.events.emit(canary, event);
    parts.eventHooks.emit(canary, whole, event);
  }
  if (persistentFailure && failure && !isReported(canary.status, failure))
    emitFailure(parts, canary, persistentFailure);
  return written;
}

/** The same where nothing could be decided. The alerts of the Canary are told of it, too. */
export async function reportUndecided(
  parts: CanaryParts,
  canary: Canary,
  failure: Failure,
): Promise<Canary | undefined> {
  parts.outbox.send(canary);
  const told = withStopped(parts, canary, parts.outbox.answered(canary, canary.status ?? {}), failure);
  const written = await report(parts, canary, failure, told);
  if (written) parts.outbox.send(written);
  return written;
}

/** Flagger writes these from the first status on, and the health check that Argo CD has for Canaries fails without: it then syncs nothing of the Application. */
const undecided = { phase: '', canaryWeight: 0 } as const;

/**
 * Reports a failure as condition and Event, in a status that is otherwise as it was; logs it where the status cannot be written. Returns the Canary as
 * written, if it was.
 */
export async function report(
  parts: CanaryParts,
  canary: Canary,
  failure: Failure,
  before = canary.status,
): Promise<Canary | undefined> {
  const observed = { ...undecided, ...before, ...observedAt(canary) };
  const { reason, message, transient, line = message } = failure;
  const stopping = { reason, message, transient, line };
  const status = withEngineConditions(canary, observed, {
    failure: stopping,
    nowMs: parts.clock.nowMs(),
  });
  if (!isReported(before, failure)) emitFailure(parts, canary, failure);
  try {
    return await writeStatus(parts, canary, status);
  } catch (error) {
    parts.log.warn({ err: error, canary: namespacedName(canary) }, 'could not write the status of a Canary');
    return undefined;
  }
}

/** Reports a failure as an Event. */
export function emitFailure({ events }: CanaryParts, canary: Canary, { reason, message }: Failure): void {
  events.emit(canary, { type: 'Warning', reason, message });
}
