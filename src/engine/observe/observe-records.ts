import type { Canary } from '../../api/canary.ts';
import type { CanaryStatus } from '../../api/canary-status.ts';
import type { RecordView } from '../../rollout/world.ts';
import type { CanaryParts } from '../canary/canary-parts.ts';
import { keyOf } from '../canary/checks.ts';
import { recordVersion, recordViews } from '../records/records.ts';
import type { NamespaceView } from './namespace-view.ts';

/**
 * The records of a Canary, newest first, each read and checked once per version (S10). A damaged one says so, and whether Git still gives
 * its release. The last-known-good that the status names is among them even when no Secret of it can be seen: it is then missing, and no
 * older release takes its place unnoticed.
 */
export async function observeRecords(
  parts: Pick<CanaryParts, 'records' | 'lostRecords'>,
  canary: Canary,
  view: Pick<NamespaceView, 'records'>,
): Promise<RecordView[]> {
  const name = { namespace: canary.metadata.namespace ?? '', name: canary.metadata.name };
  const secrets = view.records();
  const seen = recordViews(secrets, name);
  const unseen = expected(canary).filter(({ digest }) => !seen.some((record) => record.digest === digest));
  const judged = await Promise.all(
    [...seen, ...unseen].map(async (record): Promise<RecordView> => {
      const version = recordVersion(secrets, record.name);
      const damaged = await parts.records.problemOf(name, record.digest, version);
      if (damaged === undefined) return record;
      const lost = { digest: record.digest, commit: record.commit.commit };
      const inGit =
        record.promotedTime !== undefined && parts.lostRecords.find(keyOf(canary), lost) !== undefined;
      return { ...record, damaged, inGit };
    }),
  );
  return judged.sort(newestFirst);
}

function expected({ status }: Canary): RecordView[] {
  const { lastKnownGood } = (status ?? {}) as CanaryStatus;
  if (!lastKnownGood?.digest) return [];
  const { digest, commit, promotedTime, record } = lastKnownGood;
  return [{ digest, commit: { commit, subject: '', author: '', time: '' }, name: record, promotedTime }];
}

function newestFirst(left: RecordView, right: RecordView): number {
  return Date.parse(right.promotedTime ?? '9999-12-31') - Date.parse(left.promotedTime ?? '9999-12-31');
}
