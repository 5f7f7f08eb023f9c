/** What records and rejections say: which releases proved good, which one is the last-known-good, which must not be tried again (S10-S14). */
import { gitPart } from '../api/digest.ts';
import { describeRelease, type RecordView, type RejectionView, type World } from './world.ts';

/**
 * The last-known-good: the newest proven record that is not rejected; a rejection counts more than the proof. Also if its bytes are lost:
 * it is still what the primary should run, and no other release takes its place automatically.
 */
export function lastKnownGood(world: World): RecordView | undefined {
  return provenReleases(world)[0];
}

/** Proven releases that are not rejected, the one that proved itself last first. */
export function provenReleases(world: World): RecordView[] {
  const rejected = new Set(rejectionsOf(world).map((rejection) => rejection.digest));
  const after = earlierRecords(world) ?? -1;
  return world.records
    .filter((record) => record.promotedTime !== undefined && !rejected.has(record.digest))
    .filter(({ sequence = 0 }) => sequence > after)
    .sort(newestFirst);
}

/**
 * The highest sequence of records that a Canary does not go by until its first release is proven: one that was made again together with its
 * live target starts from that, as any new one (issue 14, 6b). Undefined: all records count. Where the target runs a release that was
 * rejected, the last-known-good is still the better start.
 */
export function earlierRecords(world: World): number | undefined {
  const { status, head, records } = world;
  if (status.run) return (status.run as { recordsAfter?: number }).recordsAfter;
  const isNew = status.lastAppliedSpec === undefined && (status.phase ?? 'Initializing') === 'Initializing';
  if (!world.madeAgain || !isNew) return undefined;
  const isRejected =
    head.kind === 'release' &&
    rejectionsOf(world).some(({ digest }) => gitPart(digest) === gitPart(head.release.digest));
  return isRejected ? undefined : highestSequence(records);
}

/**
 * Every rejection in force: those read back from their Secret, and those of the status that are not written there yet. If the Secret
 * cannot be read, the status alone counts.
 */
export function rejectionsOf({ rejected, rejectionsProblem, status }: World): RejectionView[] {
  const noted = status.rejected ?? [];
  if (rejectionsProblem !== undefined) return [...noted];
  const saved = new Set(rejected.map(({ digest }) => digest));
  return [...rejected, ...noted.filter(({ pending, digest }) => pending && !saved.has(digest))];
}

/**
 * The rejection of this digest (S14). It applies to every release with the same bytes in Git: a Secret that rotates outside Git is no
 * reason to try it again, unless that config was the cause, or the last-known-good has these bytes, so that only the config differs.
 */
export function rejectionOf(
  {
    rejections,
    good,
  }: {
    readonly rejections: readonly RejectionView[];
    readonly good: { readonly digest: string } | undefined;
  },
  digest: string,
): RejectionView | undefined {
  const exact = rejections.find((rejection) => rejection.digest === digest);
  if (exact) return exact;
  if (good !== undefined && gitPart(good.digest) === gitPart(digest)) return undefined;
  return rejections.find(
    (rejection) => gitPart(rejection.digest) === gitPart(digest) && !OF_CONFIG.has(rejection.cause ?? ''),
  );
}

/** Causes that a change of config outside Git may end. */
const OF_CONFIG: ReadonlySet<string> = new Set(['ReferenceMissing', 'ConfigCopyMissing']);

/** The record of a digest, if its bytes were read back undamaged. */
export function soundRecord(world: World, digest: string | undefined): RecordView | undefined {
  return world.records.find((record) => record.digest === digest && record.damaged === undefined);
}

/** Its bytes are lost: the record is damaged and Git does not give them either. Nothing may be written from it. */
export function isLost(record: RecordView): boolean {
  return record.damaged !== undefined && record.inGit !== true;
}

/** Whether there is a record of this digest, and its bytes are lost. */
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

/** Which Secret is damaged, how, what to do about it, and which proven release could be used instead. */
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

/**
 * Sorts records, newest first: releases that are not proven yet, then proven ones by their sequence. Records from before there was a
 * sequence come last, by time: clocks of two machines do not tell which release came first (S30).
 */
export function newestFirst(left: RecordView, right: RecordView): number {
  const rank = ({ promotedTime, sequence = 0 }: RecordView) =>
    promotedTime === undefined ? Number.MAX_SAFE_INTEGER : sequence;
  const timeMs = ({ promotedTime }: RecordView) => Date.parse(promotedTime ?? '') || 0;
  return (
    rank(right) - rank(left) ||
    timeMs(right) - timeMs(left) ||
    (left.digest < right.digest ? -1 : Number(left.digest > right.digest))
  );
}

/** The sequence of the release that is proven next, above `after`; its own if it was the last one. */
export function nextSequence(records: readonly RecordView[], digest: string, after = 0): number {
  const own = records.find((record) => record.digest === digest)?.sequence ?? 0;
  const others = highestSequence(records.filter((record) => record.digest !== digest));
  return Math.max(own > others ? own : others + 1, after + 1);
}

/** The highest sequence among these records; 0 where none has one. */
export function highestSequence(records: readonly RecordView[]): number {
  return Math.max(0, ...records.map(({ sequence = 0 }) => sequence));
}
