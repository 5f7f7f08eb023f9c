import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Failure } from '../failure.ts';
import { disownAll } from '../perform/disown.ts';
import { giveScalersBack } from '../perform/perform-scalers.ts';
import type { CanaryParts } from './canary-parts.ts';
import { keyOf } from './checks.ts';
import { dropFinalizer } from './finalizer.ts';

/** Beyond the time the core gives pods to come up: with the core's own half minute, a minute beyond what is configured (L10). */
const graceMs = 60_000;
const defaultDeadlineSeconds = 600;
/** Tries follow each other this closely while a deletion fails: it must not wait in a long back-off. */
const againMs = 5_000;

/**
 * A deletion that cannot even be looked at (router gone, spec broken, rights lost) ends after its deadline: nobody knows who serves, so all
 * that was made stays, the finalizer goes, and people are told. Gives the time until the next try, undefined once it is gone. Throws what
 * the API server refuses.
 */
export async function afterFailedDeletion(
  parts: CanaryParts,
  canary: KubernetesObject,
  failure: Failure,
): Promise<number | undefined> {
  if ((canary.spec as { revertOnDeletion?: unknown } | undefined)?.revertOnDeletion !== true) {
    await dropFinalizer(parts, canary);
    return undefined;
  }
  const endMs = Date.parse(canary.metadata.deletionTimestamp ?? '') + deadlineMs(canary) + graceMs;
  const leftMs = endMs - parts.clock.nowMs();
  if (leftMs > 0) return Math.min(leftMs, againMs);
  await disownAll(parts, canary);
  await giveScalersBack(parts, canary);
  await dropFinalizer(parts, canary);
  const message = `the traffic could not be handed back in time: ${failure.message}; all that was made for the Canary stays, without an owner, and the Canary goes`;
  parts.events.emit(canary, { type: 'Warning', reason: 'HandBackGivenUp', message });
  parts.log.warn({ canary: keyOf(canary), reason: failure.reason }, message);
  return undefined;
}

/** From the raw object: it may be the spec that is broken. */
function deadlineMs({ spec }: KubernetesObject): number {
  const { progressDeadlineSeconds: seconds } = (spec ?? {}) as { progressDeadlineSeconds?: unknown };
  return (typeof seconds === 'number' && seconds >= 0 ? seconds : defaultDeadlineSeconds) * 1000;
}
