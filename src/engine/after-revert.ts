import type { Canary } from '../api/canary.ts';
import type { CanaryStatus } from '../api/canary-status.ts';
import type { Release } from '../release/release.ts';
import { keyOf } from './checks.ts';
import { type ConditionNews, findCondition } from './conditions.ts';

/** Condition that compares Git with the record after a revert; reported, never waited for (design section 5). */
export const reproducedCondition = 'RecordReproduced';

/** What rendering an older commit again gave. */
export type Reproduced =
  | { readonly digest: string; readonly release: Release; readonly problem?: never }
  | { readonly digest?: never; readonly release?: never; readonly problem: string };

/** Renders the last-known-good's commit again beside a revert and remembers how it compares with the record. */
export interface AfterRevert {
  /** Starts the comparison if this status says that a revert ended; once per Canary and release. */
  look(canary: Canary, status: CanaryStatus): void;
  /** The result for a Canary whose revert stands, if it is there. */
  conditionOf(canaryKey: string, status: CanaryStatus): ConditionNews | undefined;
}

/** Nothing compared yet. `onDone` is called when a result is there. */
export function createAfterRevert(
  reproduce: (canaryKey: string, commit: string) => Promise<Reproduced>,
  onDone: (canaryKey: string) => void,
): AfterRevert {
  const results = new Map<string, { digest: string; news: ConditionNews | undefined }>();

  async function compare(canaryKey: string, commit: string, digest: string): Promise<void> {
    const again = await reproduce(canaryKey, commit);
    results.set(canaryKey, { digest, news: newsOf(again, commit, digest) });
    onDone(canaryKey);
  }

  return {
    look(canary, status) {
      const good = status.lastKnownGood;
      const key = keyOf(canary);
      if (!isReverted(status) || !good?.commit || results.get(key)?.digest === good.digest) return;
      if (findCondition(canary.status?.conditions, reproducedCondition)) return;
      results.set(key, { digest: good.digest, news: undefined });
      void compare(key, good.commit, good.digest);
    },
    conditionOf(canaryKey, status) {
      const result = results.get(canaryKey);
      return isReverted(status) && result?.digest === status.lastKnownGood?.digest ? result?.news : undefined;
    },
  };
}

/** True while a revert stands; the condition goes with it. */
export function isReverted(status: CanaryStatus): boolean {
  return findCondition(status.conditions, 'Reverted')?.status === 'True';
}

function newsOf(again: Reproduced, commit: string, digest: string): ConditionNews {
  const type = reproducedCondition;
  const short = commit.slice(0, 7);
  if (again.problem !== undefined)
    return {
      type,
      status: 'Unknown',
      reason: 'CommitUnavailable',
      message: `${short} could not be rendered again: ${again.problem}`,
    };
  if (again.digest === digest)
    return {
      type,
      status: 'True',
      reason: 'SameDigest',
      message: `${short} renders to exactly what the record holds`,
    };
  return {
    type,
    status: 'False',
    reason: 'DigestDiffers',
    message: `${short} renders to something else than the record now; the record's bytes were applied`,
  };
}
