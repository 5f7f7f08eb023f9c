import type { Log } from '../../contracts/cluster.ts';
import type { Decision } from '../../rollout/outcome.ts';
import type { PassResult } from '../work-queue.ts';
import type { CanaryParts } from './context/context.ts';
import { observe } from './observe/observe.ts';
import { describeAction } from './perform/action-text.ts';
import { canaryInForce } from './status/spec-in-force.ts';

const watchWaitMs = 2_000;

/**
 * A pass over a Canary that only logs what would be done next, once per change (`--shadow`, design section 2.5). What comes after that step
 * depends on what it would have done, and is unknown.
 */
export function createShadowPass(parts: CanaryParts): (key: string) => Promise<PassResult> {
  const logOnce = createDecisionLog(parts.log);

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

function createDecisionLog(log: Log): (key: string, fields: Record<string, unknown>) => void {
  const logged = new Map<string, string>();
  return (canary, fields) => {
    const text = JSON.stringify(fields);
    if (logged.get(canary) === text) return;
    logged.set(canary, text);
    log.info({ canary, ...fields }, 'shadow mode: nothing was written');
  };
}
