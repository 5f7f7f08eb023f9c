import type { Canary } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import {
  describe,
  type KubernetesObject,
  nameOf,
  namespacedName,
  partOfLabel,
} from '../../../api/kubernetes.ts';
import { limits } from '../../../api/limits.ts';
import { type Release, settingsKey, settingsOf, type WorkloadSettings } from '../../../release/release.ts';
import { commitOfDigest } from '../../../rollout/commits.ts';
import { highestSequence, newestFirst, type RecordView, type World } from '../../../rollout/world.ts';
import { EngineError } from '../../failure.ts';
import { recordVersion, recordViews, rejectionsOf } from '../../records/records.ts';
import type { NamespaceView } from '../context/namespace-view.ts';
import type { ReadContext, ReadParts } from '../context/observation.ts';

/**
 * The records of a Canary, newest first, each read and checked once per version (S10). A damaged one says so, and whether Git still gives
 * its release. The last-known-good that the status names is among them even when no Secret of it can be seen: it is then missing, and no
 * older release takes its place unnoticed. `isUnread`: one could not be read this time, and counts as damaged.
 */
export async function observeRecords(
  parts: Pick<ReadParts, 'records' | 'lostRecords'>,
  canary: Canary,
  view: Pick<NamespaceView, 'records' | 'unread'>,
): Promise<{ readonly records: RecordView[]; readonly isUnread: boolean }> {
  const name = nameOf(canary);
  const secrets = view.records();
  const all = recordViews(secrets, name);
  const seen = mostNeeded(all, canary);
  let isUnread = view.unread('records') !== undefined;
  const unseen = expected(canary, all).filter(({ digest }) => !seen.some((one) => one.digest === digest));
  const checked = await Promise.all(
    [...seen, ...unseen].map(async (record): Promise<RecordView> => {
      const version = recordVersion(secrets, record.name);
      const problem = await parts.records.problemOf(name, record.digest, version);
      if (problem === undefined) return record;
      if (problem.isUnread) isUnread = true;
      const damaged = problem.message;
      const lost = { digest: record.digest, commit: record.commit.commit };
      const inGit =
        record.promotedTime !== undefined &&
        parts.lostRecords.find(namespacedName(canary), lost) !== undefined;
      return { ...record, damaged, inGit };
    }),
  );
  return { records: checked.sort(newestFirst), isUnread };
}

/**
 * Says to the registry of heads which ApplySet the live target is a member of, and which commit the Canary remembers for the digest at head. The
 * watched metadata of records is enough.
 */
export function recallHead(
  { heads }: Pick<ReadParts, 'heads'>,
  canary: Canary,
  known: {
    readonly status: CanaryStatus;
    readonly view: Pick<NamespaceView, 'records'>;
    readonly wanted: KubernetesObject | undefined;
  },
): void {
  const { status, view, wanted } = known;
  const key = namespacedName(canary);
  // Before the target exists, its Canary shows which Source it belongs to.
  heads.setOwner(key, (wanted ?? canary).metadata.labels?.[partOfLabel]);
  heads.recall(key, (digest) =>
    commitOfDigest({ status, records: recordViews(view.records(), nameOf(canary)) }, digest),
  );
}

/**
 * The records that are read: those that the status names, and the newest others. Whoever may write Secrets makes any number, and one may take a
 * second to be checked.
 */
function mostNeeded(records: readonly RecordView[], { status }: Canary): RecordView[] {
  const { lastKnownGood, run } = (status ?? {}) as CanaryStatus;
  const isNamed = ({ digest }: RecordView) => digest === lastKnownGood?.digest || digest === run?.digest;
  const others = records.filter((record) => !isNamed(record)).sort(newestFirst);
  return [...records.filter(isNamed), ...others.slice(0, limits.recordsRead)];
}

/** The last-known-good of the status as a record, newer than all others: nothing proved itself after it. */
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

/** The rejections of a Canary, the oldest first, or why they are not known. */
export function observeRejections(
  canary: Canary,
  view: NamespaceView,
): Pick<World, 'rejected' | 'rejectionsProblem'> {
  const unread = view.unread('rejections');
  const found = unread === undefined ? rejectionsOf(view.rejections(), nameOf(canary)) : undefined;
  // The Secret has the newest first, the status has it last.
  if (found) return { rejected: found.toReversed() };
  const why = unread === undefined ? '; delete it to forget them' : `: ${unread}`;
  const rejectionsProblem = `${describe(canary)}: the Secret with its rejected releases cannot be read${why}`;
  return { rejected: [], rejectionsProblem };
}

/** The bytes of a release and the settings to write with it. */
export interface ReleaseBytes {
  readonly release: Release;
  readonly settings: WorkloadSettings;
  readonly settingsKey: string;
}

/**
 * The bytes of a digest: from Git while head is that release, else from what Git said earlier, else from the record, checked (S6, S12).
 * Settings are head's when head is that release, else those the record carries. Throws EngineError ReleaseUnknown.
 */
export async function bytesOf({ parts, observation }: ReadContext, digest: string): Promise<ReleaseBytes> {
  const key = namespacedName(observation.canary);
  const withSettings = (release: Release, settings = settingsOf(release.target)): ReleaseBytes => ({
    release,
    settings,
    settingsKey: settingsKey(settings),
  });
  const head = parts.heads.of(key).release;
  // Git may have been read since the world was observed, at a later commit with the same content.
  if (head?.digest === digest)
    return withSettings({ ...head, commit: commitOfDigest(observation.world, digest) ?? head.commit });
  const recorded = observation.world.records.find((record) => record.digest === digest);
  if (recorded && recorded.damaged === undefined) {
    const { release, settings, commit } = await parts.records.load(nameOf(observation.canary), digest);
    return withSettings({ ...release, commit }, settings);
  }
  const earlier = parts.lostRecords.of(key, digest);
  if (earlier) return withSettings(earlier);
  const release = digest.slice(0, 15);
  const unread = recorded ? undefined : observation.view.unread('records');
  const why =
    unread === undefined
      ? `the manifests of release ${release} are neither at head nor in a record${recorded?.damaged ? ` (${recorded.damaged})` : ''}`
      : `release ${release} is not at head, and records cannot be read: ${unread}`;
  throw new EngineError('ReleaseUnknown', `${describe(observation.canary)}: ${why}`, true);
}
