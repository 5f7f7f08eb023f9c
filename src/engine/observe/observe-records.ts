import type { Canary } from '../../api/canary.ts';
import type { CanaryStatus } from '../../api/canary-status.ts';
import { highestSequence, newestFirst } from '../../rollout/record-order.ts';
import type { RecordView } from '../../rollout/world.ts';
import type { CanaryParts } from '../canary/canary-parts.ts';
import { keyOf } from '../canary/checks.ts';
import { recordVersion, recordViews } from '../records/records.ts';
import type { NamespaceView } from './namespace-view.ts';

/**
 * The records of a Canary, newest first, each read and checked once per version (S10). A damaged one says so, and whether Git still gives
 * its release. The last-known-good that the status names is among them even when no Secret of it can be seen: it is then missing, and no
 * older release takes its place unnoticed. `isUnread`: one could not be read this time, and counts as damaged.
 */
export async function observeRecords(
  parts: Pick<CanaryParts, 'records' | 'lostRecords'>,
  canary: Canary,
  view: Pick<NamespaceView, 'records' | 'unread'>,
): Promise<{ readonly records: RecordView[]; readonly isUnread: boolean }> {
  const name = { namespace: canary.metadata.namespace ?? '', name: canary.metadata.name };
  const secrets = view.records();
  const seen = recordViews(secrets, name);
  let isUnread = view.unread('records') !== undefined;
  const unseen = expected(canary, seen).filter(({ digest }) => !seen.some((one) => one.digest === digest));
  const judged = await Promise.all(
    [...seen, ...unseen].map(async (record): Promise<RecordView> => {
      const version = recordVersion(secrets, record.name);
      const problem = await parts.records.problemOf(name, record.digest, version);
      if (problem === undefined) return record;
      if (problem.isUnread) isUnread = true;
      const damaged = problem.message;
      const lost = { digest: record.digest, commit: record.commit.commit };
      const inGit =
        record.promotedTime !== undefined && parts.lostRecords.find(keyOf(canary), lost) !== undefined;
      return { ...record, damaged, inGit };
    }),
  );
  return { records: judged.sort(newestFirst), isUnread };
}

/** Nothing proved itself after it, as far as the status says. */
function expected({ status }: Canary, seen: readonly RecordView[]): RecordView[] {
  const { lastKnownGood } = (status ?? {}) as CanaryStatus;
  if (!lastKnownGood?.digest) return [];
  const { digest, commit, promotedTime, record } = lastKnownGood;
  const highest = highestSequence(seen);
  const sequence = highest > 0 ? { sequence: highest + 1 } : {};
  return [
    {
      digest,
      commit: { commit, subject: '', author: '', time: '' },
      name: record,
      promotedTime,
      ...sequence,
    },
  ];
}
