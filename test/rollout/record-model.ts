import { gitPart } from '../../src/api/commit.ts';
import { nextSequence, type RecordView } from '../../src/rollout/world.ts';

/** The commit that a model's release comes with, unless it says otherwise. */
export function shaOf(digest: string): string {
  return `sha-${gitPart(digest)}`;
}

/** A record as a model keeps it right after it was saved: nothing is proven yet. */
export function savedRecord(digest: string): RecordView {
  return {
    digest,
    commit: { commit: shaOf(digest), subject: `release ${digest}`, author: 'a', time: '' },
    name: `record-${digest}`,
    promotedTime: undefined,
  };
}

/** The records after one of them proved itself. */
export function withProven(
  records: readonly RecordView[],
  digest: string,
  nowMs: number,
  after?: number,
): RecordView[] {
  const promotedTime = new Date(nowMs).toISOString();
  const sequence = nextSequence(records, digest, after);
  return records.map((record) => (record.digest === digest ? { ...record, promotedTime, sequence } : record));
}
