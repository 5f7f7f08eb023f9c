import { act, type Draft, say } from './draft.ts';
import { isBroken, nameOf } from './expectation/drift-comparisons.ts';
import { isLostDigest, soundRecord } from './kept.ts';
import { headRelease } from './run.ts';

/**
 * The primary's copies of ConfigMaps and Secrets belong to the release that it runs, as one set (S16): one that is gone, or is left from
 * another release, is written again, whatever else is done. Without it the next pod would not start, or start with another config.
 */
export function keepConfigCopies(draft: Draft): void {
  const { world } = draft;
  const { primary } = world;
  const broken = (primary?.configCopies ?? []).filter(isBroken);
  // Whatever writes the primary writes its copies, too: those of the release that it is to run.
  const isWritten = draft.actions.some(({ type }) => type === 'ApplyPrimary');
  if (!primary?.digest || broken.length === 0 || isWritten || !canBeWritten(draft, primary.digest)) return;
  say(
    draft,
    'Warning',
    'ConfigCopyMissing',
    `written again for the primary: ${broken.map(nameOf).join(', ')}`,
  );
  act(draft, { type: 'RestoreConfigs', digest: primary.digest });
}

function canBeWritten({ world }: Draft, digest: string): boolean {
  if (isLostDigest(world, digest)) return false;
  return headRelease(world)?.digest === digest || soundRecord(world, digest) !== undefined;
}
