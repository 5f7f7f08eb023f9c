/** Conditions of a Canary: Flagger's condition Promoted, and how findings become conditions with timestamps. */
import type { Condition } from '../kubernetes.ts';
import { limits, shorten } from '../limits.ts';
import { stamp } from '../time.ts';
import type { CanaryPhase, CanaryStatus } from './status.ts';

/** A condition without timestamps. */
export interface Finding {
  type: string;
  status: Condition['status'];
  reason: string;
  message: string;
}

/** Flagger's condition Promoted, by phase (flagger-behaviour 1.4). */
const PROMOTED: Partial<Record<CanaryPhase, { status: Condition['status']; message: string }>> = {
  Initializing: { status: 'Unknown', message: 'New Deployment detected, starting initialization.' },
  Initialized: { status: 'True', message: 'Deployment initialization completed.' },
  Waiting: { status: 'Unknown', message: 'Waiting for approval.' },
  Progressing: { status: 'Unknown', message: 'New revision detected, progressing canary analysis.' },
  WaitingPromotion: { status: 'Unknown', message: 'Waiting for approval.' },
  Promoting: { status: 'Unknown', message: 'Canary analysis completed, starting primary rolling update.' },
  Finalising: { status: 'Unknown', message: 'Canary analysis completed, routing all traffic to primary.' },
  Succeeded: { status: 'True', message: 'Canary analysis completed successfully, promotion finished.' },
  Terminating: { status: 'Unknown', message: 'Canary deleted, handing the traffic back to the target.' },
  Failed: { status: 'False', message: 'Canary analysis failed, the release was not promoted.' },
};

/** The condition Promoted of a phase; its reason is the phase (what `kubectl wait` reads). */
export function promotedCondition(phase: CanaryPhase | undefined): Finding | undefined {
  const entry = phase ? PROMOTED[phase] : undefined;
  return phase && entry ? { type: 'Promoted', reason: phase, ...entry } : undefined;
}

/**
 * Merges findings into the conditions of a status. `lastTransitionTime` changes only with the status value, `lastUpdateTime` with
 * anything but the generation. Conditions of other types stay as they are.
 */
export function mergeConditions(
  status: CanaryStatus,
  findings: readonly Finding[],
  nowMs: number,
  observedGeneration: number | undefined,
): Condition[] {
  const before = new Map((status.conditions ?? []).map((condition) => [condition.type, condition]));
  for (const { type, status: value, reason, message } of findings) {
    const old = before.get(type);
    const text = shorten(message, limits.conditionMessageCharacters);
    const same = old?.status === value && old.reason === reason && old.message === text;
    before.set(type, {
      type,
      status: value,
      reason,
      message: text,
      lastUpdateTime: same && old.lastUpdateTime ? old.lastUpdateTime : stamp(nowMs),
      lastTransitionTime:
        old?.status === value && old.lastTransitionTime ? old.lastTransitionTime : stamp(nowMs),
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
    });
  }
  return [...before.values()];
}
