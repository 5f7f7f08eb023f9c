import type { Log } from '../../contracts/cluster.ts';
import type { Decision } from '../../rollout/action.ts';
import type { PassResult } from '../work-queue.ts';
import type { CanaryParts } from './context/context.ts';
import { observe } from './observe/observe.ts';
import { describeAction } from './perform/action-words.ts';
import { canaryInForce } from './status/spec-in-force.ts';

const watchWaitMs = 2_000;

/**
 * A pass over a Canary that only tells what would be done next, once per change (`--shadow`, design section 2.5). What comes after that step
 * depends on what it would have done, and cannot be told.
 */
export function createShadowPass(parts: CanaryParts): (key: string) => Promise<PassResult> {
  const tell = createTeller(parts.log);

  return async (key) => {
    const object = parts.canaries.get(key);
    if (!object) return { againAfterMs: undefined };
    const read = canaryInForce(parts, object);
    if ('failure' in read) {
      tell(key, { problem: read.failure.message });
      return { againAfterMs: undefined };
    }
    const observed = await observe(parts, read.canary);
    if (observed.kind === 'waiting') return { againAfterMs: watchWaitMs };
    const decision = parts.step(observed.observation.world);
    tell(key, wordsOf(decision));
    return { againAfterMs: decision.wakeAfterMs };
  };
}

function wordsOf({ actions, status, check }: Decision): Record<string, unknown> {
  const asks = check ? [...check.metrics, ...check.hooks] : [];
  return {
    phase: status.phase,
    would: actions.map((action) => describeAction(action)),
    asks,
    status: status.message,
  };
}

function createTeller(log: Log): (key: string, fields: Record<string, unknown>) => void {
  const told = new Map<string, string>();
  return (canary, fields) => {
    const text = JSON.stringify(fields);
    if (told.get(canary) === text) return;
    told.set(canary, text);
    log.info({ canary, ...fields }, 'in the shadow: nothing was done');
  };
}
