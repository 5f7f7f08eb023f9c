import { act, type Draft, say } from './draft.ts';
import { isBroken, nameOf } from './expectation/drift-comparisons.ts';
import { isLostDigest, soundRecord } from './kept.ts';
import { headRelease } from './run.ts';

/**
 * The primary's copies of ConfigMaps and Secrets belong to the release that it runs, as one set (S16): one that is gone, or is left from
 * another release, is written again, whatever else is done. Without it the next pod would not start, or start with another config. One that is
 * to follow its original outside Git does so at once, without a release.
 */
export function keepConfigCopies(draft: Draft): void {
  const { world } = draft;
  const { primary } = world;
  const copies = primary?.configCopies ?? [];
  const broken = copies.filter(isBroken);
  const outdated = copies.filter(({ state }) => state === 'outdated');
  // Whatever writes the primary writes its copies, too: those of the release that it is to run.
  const isWritten = draft.actions.some(({ type }) => type === 'ApplyPrimary');
  if (broken.length + outdated.length === 0 || isWritten) return;
  if (!primary?.digest || !canBeWritten(draft, primary.digest)) return;
  const names = (list: typeof copies) => list.map(nameOf).join(', ');
  if (broken.length > 0)
    say(draft, 'Warning', 'ConfigCopyMissing', `written again for the primary: ${names(broken)}`);
  if (outdated.length > 0)
    say(draft, 'Normal', 'ConfigFollowed', `the primary follows the newest data: ${names(outdated)}`);
  act(draft, { type: 'RestoreConfigs', digest: primary.digest });
}

/** Copies of the primary's config that somebody took away, and that this very step writes again: no fault of the release. */
export function restoresCopies(draft: Draft): boolean {
  const { primary } = draft.world;
  if (!primary?.digest || !canBeWritten(draft, primary.digest)) return false;
  return primary.configCopies.some(isBroken);
}

function canBeWritten({ world }: Draft, digest: string): boolean {
  if (isLostDigest(world, digest)) return false;
  return headRelease(world)?.digest === digest || soundRecord(world, digest) !== undefined;
}
