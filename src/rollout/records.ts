/** What is kept of releases, and what can still be done when the record of the last-known-good is damaged (S10-S12). */
import type { Context } from './context.ts';
import { act, type Effects, say, stall, wake } from './outcome.ts';
import { provenReleases } from './run.ts';
import { describeRelease, type RecordView, type World } from './world.ts';

/** Git is asked again for a lost release after this time. */
const ASK_AGAIN_MS = 300_000;

/** The record of a digest whose bytes were read back sound. */
export function soundRecord(world: World, digest: string | undefined): RecordView | undefined {
  return world.records.find((record) => record.digest === digest && record.damaged === undefined);
}

/** Its bytes are nowhere: the record is damaged and Git does not give them either. Nothing may be written from it. */
export function isLost(record: RecordView): boolean {
  return record.damaged !== undefined && record.inGit !== true;
}

/** The record of this digest is known, and its bytes are nowhere. */
export function isDigestLost(world: World, digest: string): boolean {
  return world.records.some((record) => record.digest === digest && isLost(record));
}

/** The release that a revert of this one restores; undefined where there is none. */
export function revertTarget(
  good: RecordView | undefined,
  run: { readonly digest: string },
): RecordView | undefined {
  return good && !isLost(good) && good.digest !== run.digest ? good : undefined;
}

/** A damaged record of the last-known-good is written again from Git: the digest proves that these are its bytes. Reported once. */
export function repairRecord({ world, good }: Context): Effects {
  if (good?.damaged === undefined || good.promotedTime === undefined) return {};
  const before = world.status.conditions?.find((condition) => condition.type === 'RollbackReady');
  const told =
    before?.reason === 'RecordDamaged' ? {} : say('Warning', 'RecordDamaged', describeDamage(world, good));
  if (isLost(good)) return { ...told, ...wake(ASK_AGAIN_MS) };
  return { ...told, ...act({ type: 'SaveRecord', digest: good.digest, promotedTime: good.promotedTime }) };
}

/** Reports that nothing is written, since the last-known-good cannot be restored; a person must act. */
export function reportLost(world: World, good: RecordView): Effects {
  return stall(
    'RecordDamaged',
    `the last-known-good cannot be restored, so nothing is written: ${describeDamage(world, good)}`,
  );
}

/** Which Secret, what is wrong with it, what to do, and which proven release is next. */
export function describeDamage(world: World, good: RecordView): string {
  const problem = good.damaged ?? '';
  if (!isLost(good)) return `${problem}; Git has the same release, so the record is written again`;
  const next = provenReleases(world).find((record) => record.damaged === undefined);
  const way = `restore the Secret from a backup, or make ${describeRelease(good)} the head in Git again`;
  const other = next
    ? `; the next proven release is ${describeRelease(next)}: make it the head in Git, or annotate the Canary with holdfast.dev/rollback-to: "${next.commit.commit.slice(0, 7) || next.digest}"`
    : '; no other proven release is kept';
  return `${problem}; ${way}${other}`;
}
