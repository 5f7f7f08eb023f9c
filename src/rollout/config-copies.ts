import { isBroken, nameOf } from '../health/drift.ts';
import type { Action } from './action.ts';
import type { Context } from './context.ts';
import { isLostDigest, soundRecord } from './kept.ts';
import { act, type Effects, say, together } from './outcome.ts';

/**
 * The primary's copies of ConfigMaps and Secrets belong to the release that it runs, as one set (S16): one that is gone, or is left from
 * another release, is written again, whatever else is done. Without it the next pod would not start, or start with another config. One that is
 * to follow its original outside Git does so at once, without a release.
 */
export function keepConfigCopies(context: Context, actions: readonly Action[]): Effects {
  const { primary } = context.world;
  const copies = primary?.configCopies ?? [];
  const broken = copies.filter(isBroken);
  const outdated = copies.filter(({ state }) => state === 'outdated');
  // Whatever writes the primary writes its copies, too: those of the release that it is to run.
  const isWritten = actions.some(({ type }) => type === 'ApplyPrimary');
  if (broken.length + outdated.length === 0 || isWritten) return {};
  if (!primary?.digest || !canRestoreCopies(context)) return {};
  const names = (list: typeof copies) => list.map(nameOf).join(', ');
  return together(
    broken.length > 0
      ? say('Warning', 'ConfigCopyMissing', `written again for the primary: ${names(broken)}`)
      : {},
    outdated.length > 0
      ? say('Normal', 'ConfigFollowed', `the primary follows the newest data: ${names(outdated)}`)
      : {},
    act({ type: 'RestoreConfigs', digest: primary.digest }),
  );
}

/** What the primary runs can be had, so that its copies can be written again. */
export function canRestoreCopies({ world, head }: Context): boolean {
  const digest = world.primary?.digest;
  if (!digest || isLostDigest(world, digest)) return false;
  return head?.digest === digest || soundRecord(world, digest) !== undefined;
}
