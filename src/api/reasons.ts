import { analysisReasons } from './reasons-analysis.ts';
import { besideReasons } from './reasons-beside.ts';
import { gitReasons } from './reasons-git.ts';
import { hookReasons } from './reasons-hooks.ts';
import { promotionReasons } from './reasons-promotion.ts';
import { windowReasons } from './reasons-windows.ts';

/**
 * Every reason the rollout gives (design section 2.3). docs/reasons.md is made from it; the core cannot use a word that is not here.
 */
export const rolloutReasons = {
  ...analysisReasons,
  ...hookReasons,
  ...windowReasons,
  ...promotionReasons,
  ...gitReasons,
  ...besideReasons,
};

/** A word of the closed table. */
export type RolloutReason = keyof typeof rolloutReasons;

/** A word read back from a status, if it is one of the table; else the fallback. */
export function knownReason(word: string | undefined, fallback: RolloutReason): RolloutReason {
  return word !== undefined && Object.hasOwn(rolloutReasons, word) ? (word as RolloutReason) : fallback;
}
