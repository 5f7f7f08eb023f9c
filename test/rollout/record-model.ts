import type { RecordView } from '../../src/rollout/world.ts';

/** A record as a model keeps it right after it was saved: nothing is proven yet. */
export function savedRecord(digest: string): RecordView {
  return {
    digest,
    commit: { commit: `sha-${digest}`, subject: digest, author: 'a', time: '' },
    name: `record-${digest}`,
    promotedTime: undefined,
  };
}

/** The records after one of them proved itself. */
export function withProven(records: readonly RecordView[], digest: string, nowMs: number): RecordView[] {
  const promotedTime = new Date(nowMs).toISOString();
  return records.map((record) => (record.digest === digest ? { ...record, promotedTime } : record));
}
