/** Passes that leave Canaries alone: in shadow mode, and while Flagger acts on them (design section 2.5). */

import type { Canary } from '../../api/canary/canary.ts';
import { conditionOf, type KubernetesObject } from '../../api/kubernetes.ts';
import type { Decision } from '../../rollout/outcome.ts';
import { isStale } from '../failure.ts';
import { withCondition } from '../status-patch.ts';
import type { Pass, PassResult } from '../work-queue.ts';
import type { CanaryParts } from './context/context.ts';
import { foreignControllerCondition, unknownController } from './context/flagger-watch.ts';
import { observe, watchWaitMs } from './observe/observe.ts';
import { describeAction } from './perform/action-text.ts';
import { canaryInForce } from './status/spec-in-force.ts';
import { writeStatus } from './status/status.ts';

/**
 * A pass over a Canary that only logs what would be done next, once per change (`--shadow`, design section 2.5). What comes after that step
 * depends on what it would have done, and is unknown.
 */
export function createShadowPass(parts: CanaryParts): Pass {
  const logged = new Map<string, string>();

  function logOnce(canary: string, fields: Record<string, unknown>): void {
    const text = JSON.stringify(fields);
    if (logged.get(canary) === text) return;
    logged.set(canary, text);
    parts.log.info({ canary, ...fields }, 'shadow mode: nothing was written');
  }

  return async (key) => {
    const object = parts.canaries.get(key);
    if (!object) return { againAfterMs: undefined };
    const read = canaryInForce(parts, object);
    if ('failure' in read) {
      logOnce(key, { problem: read.failure.message });
      return { againAfterMs: undefined };
    }
    const observed = await observe(parts, read.canary);
    if (observed.kind === 'waiting') return { againAfterMs: watchWaitMs };
    const decision = parts.step(observed.observation.world);
    logOnce(key, describeDecision(decision));
    return { againAfterMs: decision.wakeAfterMs };
  };
}

function describeDecision({ actions, status, check }: Decision): Record<string, unknown> {
  const asks = check ? [...check.metrics, ...check.hooks] : [];
  return {
    phase: status.phase,
    would: actions.map((action) => describeAction(action)),
    asks,
    status: status.message,
  };
}

/** A Lease expires without a watch event: it is checked this often. */
const againMs = 10_000;
const unknownAgainMs = 500;
/** At a start it is unknown for a moment, which concerns nobody. */
const unknownToldAfterMs = 30_000;

/** Phases in which Flagger writes no status: in the others a write of ours would give it a conflict, and it would lose what it had not written. */
const quietPhases = new Set(['Initialized', 'Succeeded']);

/**
 * A pass over a Canary that does nothing while Flagger acts on it, or while that cannot be seen, and reports once which it is (design section 2.5).
 */
export function deferToFlagger(
  parts: Pick<CanaryParts, 'canaries' | 'clock' | 'cluster' | 'events' | 'flagger'>,
  pass: Pass,
): Pass {
  const reported = new Map<string, string>();
  const unknownSinceMs = new Map<string, number>();

  function report(key: string, object: KubernetesObject, kind: string, message: string): void {
    if (reported.get(key) === kind) return;
    parts.events.emit(object, { type: 'Warning', reason: foreignControllerCondition, message });
    reported.set(key, kind);
  }

  function waitToSee(key: string, object: KubernetesObject): PassResult {
    const nowMs = parts.clock.nowMs();
    const sinceMs = unknownSinceMs.get(key) ?? nowMs;
    unknownSinceMs.set(key, sinceMs);
    const problem = parts.flagger.problem();
    if (problem !== undefined && nowMs - sinceMs >= unknownToldAfterMs)
      report(
        key,
        object,
        'unknown',
        `it is not known whether Flagger runs (${problem}); Holdfast writes nothing until it is`,
      );
    return { againAfterMs: unknownAgainMs };
  }

  return async (key, looks) => {
    const object = parts.canaries.get(key);
    const controller = object && parts.flagger.actsOn(object.metadata.namespace ?? '');
    if (object && controller === unknownController) return waitToSee(key, object);
    unknownSinceMs.delete(key);
    if (!object || controller === undefined) {
      reported.delete(key);
      return pass(key, looks);
    }
    const message = `${controller}; Holdfast writes nothing until it is scaled to zero`;
    await writeFlaggerCondition(parts, object as Canary, message);
    report(key, object, 'Flagger', message);
    return { againAfterMs: againMs };
  };
}

async function writeFlaggerCondition(
  parts: Pick<CanaryParts, 'clock' | 'cluster'>,
  canary: Canary,
  message: string,
): Promise<void> {
  const status = canary.status ?? {};
  if (!quietPhases.has(status.phase ?? '') || canary.metadata.deletionTimestamp !== undefined) return;
  if (conditionOf(status, foreignControllerCondition)?.status === 'True') return;
  const type = foreignControllerCondition;
  const news = { type, status: 'True' as const, reason: 'FlaggerActs', message };
  const conditions = withCondition(status.conditions ?? [], news, parts.clock.nowMs());
  try {
    await writeStatus(parts, canary, { ...status, conditions });
  } catch (error) {
    // Flagger was faster: the next pass reports it.
    if (!isStale(error)) throw error;
  }
}
