/** Canaries that are being deleted, and how a deletion ends that fails. */
import type { CanaryStatus } from '../../api/canary/status.ts';
import { type KubernetesObject, namespacedName } from '../../api/kubernetes.ts';
import { type Failure, failureOf, isStale } from '../failure.ts';
import type { CanaryParts } from './context/context.ts';
import { disownAll } from './perform/disown.ts';
import { dropFinalizer, handsBack } from './perform/finalizer.ts';
import { restoreScalers } from './perform/scalers.ts';

/** Beyond the time the core gives pods to come up: with the core's own half minute, a minute beyond what is configured (L10). */
const graceMs = 60_000;
const defaultDeadlineSeconds = 600;
/** Tries follow each other this closely while a deletion fails: it must not wait in a long back-off. */
const againMs = 5_000;
/** Past the deadline, while the API server refuses to release what was made: a person has to act first. */
const overdueAgainMs = 60_000;

/** A Canary that is being deleted, as this process has seen it. */
export interface Deletion {
  readonly uid: string | undefined;
  /** On the clock of this process, since the API server's may be off by a day (S30). */
  readonly sinceMs: number;
  /** The status as decided last, if it could not be written: the next round continues from it, so that the traffic is handed back all the same. */
  unwritten?: CanaryStatus | undefined;
  /** It is let alone until then, unless its spec changes. */
  pause?: { readonly untilMs: number; readonly generation: number | undefined };
}

/** What follows a try that failed: the finalizer was removed, or the next try. */
type AfterFailure =
  | { readonly isFinalized: true }
  | { readonly isFinalized: false; readonly afterMs: number; readonly failure?: Failure };

/** The Canaries that are being deleted. */
interface Deletions {
  /** Undefined: it is not being deleted. */
  of(key: string, canary: KubernetesObject): Deletion | undefined;
  /** Its deadline has passed. */
  isOverdue(key: string, canary: KubernetesObject): boolean;
  /** For so long nothing is tried. */
  pauseMs(key: string, canary: KubernetesObject): number;
  /** A try failed: ends the deletion after its deadline. Throws a conflict. */
  failed(key: string, canary: KubernetesObject, failure: Failure): Promise<AfterFailure>;
  delete(key: string): void;
}

/** Knows none yet. */
export function createDeletions(parts: CanaryParts): Deletions {
  const { clock } = parts;
  const known = new Map<string, Deletion>();

  function of(key: string, { metadata: { uid, deletionTimestamp } }: KubernetesObject): Deletion | undefined {
    if (deletionTimestamp === undefined) return undefined;
    const before = known.get(key);
    if (before && before.uid === uid) return before;
    const begun = { uid, sinceMs: clock.nowMs() };
    known.set(key, begun);
    return begun;
  }

  function leftMs(key: string, canary: KubernetesObject): number {
    // From the raw object: it may be the spec that is broken.
    const { progressDeadlineSeconds: seconds } = (canary.spec ?? {}) as { progressDeadlineSeconds?: unknown };
    const deadlineSeconds = typeof seconds === 'number' && seconds >= 0 ? seconds : defaultDeadlineSeconds;
    return (of(key, canary)?.sinceMs ?? clock.nowMs()) + deadlineSeconds * 1000 + graceMs - clock.nowMs();
  }

  return {
    of,
    isOverdue: (key, canary) => leftMs(key, canary) <= 0,
    pauseMs(key, { metadata: { uid, generation } }) {
      const before = known.get(key);
      if (!before?.pause || before.uid !== uid || before.pause.generation !== generation) return 0;
      return before.pause.untilMs - clock.nowMs();
    },
    async failed(key, canary, failure) {
      try {
        const afterMs = await afterFailure(parts, canary, { failure, leftMs: leftMs(key, canary) });
        return afterMs === undefined ? { isFinalized: true } : { isFinalized: false, afterMs };
      } catch (error) {
        if (isStale(error)) throw error;
        // What is made for a Canary and what is released would take turns for ever: each write calls for the next pass.
        const deletion = known.get(key);
        if (deletion)
          deletion.pause = {
            untilMs: clock.nowMs() + overdueAgainMs,
            generation: canary.metadata.generation,
          };
        return { isFinalized: false, afterMs: overdueAgainMs, failure: failureOf(error) };
      }
    },
    delete: (key) => void known.delete(key),
  };
}

/**
 * A deletion that fails before anything can be decided (router gone, spec broken, rights lost) ends after its deadline: it is not known who serves,
 * so everything that was created stays, the finalizer is removed, and an Event says so. Returns the time until the next try, undefined once the
 * finalizer is removed. Throws what the API server refuses.
 */
async function afterFailure(
  parts: CanaryParts,
  canary: KubernetesObject,
  { failure, leftMs }: { readonly failure: Failure; readonly leftMs: number },
): Promise<number | undefined> {
  if (!handsBack(parts, canary)) {
    await dropFinalizer(parts, canary);
    return undefined;
  }
  if (leftMs > 0) return Math.min(leftMs, againMs);
  await disownAll(parts, canary);
  await restoreScalers(parts, canary);
  await dropFinalizer(parts, canary);
  const message = `the traffic was not handed back in time: ${failure.message}; everything made for the Canary stays, without an owner, and the Canary is deleted`;
  parts.events.emit(canary, { type: 'Warning', reason: 'HandBackGivenUp', message });
  parts.log.warn({ canary: namespacedName(canary), reason: failure.reason }, message);
  return undefined;
}
