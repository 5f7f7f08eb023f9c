import type { RecordView } from './world.ts';

/**
 * Newest first: what has not proven itself yet, then proven releases by the order in which they proved themselves. Records of before there
 * was a sequence come after all that have one, among themselves by time: clocks of two machines say nothing about what came first (S30).
 */
export function newestFirst(left: RecordView, right: RecordView): number {
  return (
    rankOf(right) - rankOf(left) ||
    timeOf(right) - timeOf(left) ||
    (left.digest < right.digest ? -1 : Number(left.digest > right.digest))
  );
}

/** The number of the release that proves itself next; its own where it was the last one to do so. */
export function nextSequence(records: readonly RecordView[], digest: string): number {
  const own = records.find((record) => record.digest === digest)?.sequence ?? 0;
  const others = highestSequence(records.filter((record) => record.digest !== digest));
  return own > others ? own : others + 1;
}

/** The highest number among these records; 0 where none has one. */
export function highestSequence(records: readonly RecordView[]): number {
  return Math.max(0, ...records.map(({ sequence = 0 }) => sequence));
}

function rankOf({ promotedTime, sequence = 0 }: RecordView): number {
  return promotedTime === undefined ? Number.MAX_SAFE_INTEGER : sequence;
}

function timeOf({ promotedTime }: RecordView): number {
  return Date.parse(promotedTime ?? '') || 0;
}
