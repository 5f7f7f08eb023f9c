import type { Draft } from '../draft.ts';
import { lastKnownGood, type Run } from '../run.ts';

/** Where a Canary stands, as far as requests are concerned. */
export type Stage =
  /** No release has proven itself yet. */
  | { kind: 'bootstrap' }
  /** No release is under way. */
  | { kind: 'idle' }
  /** A release waits, is analysed, or is about to be written to the primary. */
  | { kind: 'trying'; run: Run }
  /** The primary was written with a release that has not proven itself yet. */
  | { kind: 'written'; run: Run }
  /** The release is on its way out, or has proven itself: it only winds down. */
  | { kind: 'leaving'; run: Run }
  /** The last-known-good itself does not come up, or fails too. */
  | { kind: 'fallen'; run: Run };

/** Sorts a Canary into its stage, from status and what was read back. */
export function stageOf(draft: Draft): Stage {
  const { run, status, world } = draft;
  const good = lastKnownGood(world);
  if (!good || status.phase === 'Initializing') return { kind: 'bootstrap' };
  if (!run) return { kind: 'idle' };
  const state = status.postPromotion?.state;
  if (run.ending || state === 'Reverting' || (state !== undefined && good.digest === run.digest))
    return { kind: 'leaving', run };
  if (state === 'Held' && status.phase === 'Failed') return { kind: 'fallen', run };
  const isWritten = state !== undefined && world.primary?.digest === run.digest;
  return isWritten || state === 'Verifying' || state === 'Held'
    ? { kind: 'written', run }
    : { kind: 'trying', run };
}
