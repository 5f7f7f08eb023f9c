/** Which commit a release came from. */
import { type CommitInfo, gitPart, isDigest } from '../api/commit.ts';
import type { World } from './world.ts';

/** Where the commit of a digest is looked up; the status alone is enough. */
export type CommitMemory = Pick<World, 'status'> & Partial<Pick<World, 'head' | 'records' | 'rejected'>>;

/**
 * The commit in which this Canary first saw a digest: from the release under way and head, then the one started last, then rejections,
 * records and the history. Commits that never changed the release are in none of them. Config outside Git makes no difference. Undefined if
 * none of them has the digest, or if Git has come back to it since the release that was started last.
 */
export function commitOfDigest(world: CommitMemory, digest: string): CommitInfo | undefined {
  if (!isDigest(digest)) return undefined;
  const wanted = gitPart(digest);
  const origin = originsOf(world, wanted).find(
    (one) => one.commit && one.digest && gitPart(one.digest) === wanted,
  );
  return origin?.commit ? commitInFull(world, origin.commit, origin.subject) : undefined;
}

interface Origin {
  readonly digest: string | undefined;
  readonly commit: string | undefined;
  readonly subject?: string | undefined;
}

/** Digests with their commits, the most current first. */
function originsOf(
  { status, head, records = [], rejected = status.rejected ?? [] }: CommitMemory,
  wanted: string,
): Origin[] {
  const { run, lastAppliedSpec = '', lastAppliedCommit, lastKnownGood, history = [] } = status;
  const release = head?.kind === 'release' ? head.release : undefined;
  const older = [
    { digest: lastKnownGood?.digest, commit: lastKnownGood?.commit },
    ...records.map(({ digest, commit }) => ({ digest, commit: commit.commit })),
    ...history,
  ];
  // Head was another release since: what is older names the commit before that.
  const isBack = isDigest(lastAppliedSpec) && gitPart(lastAppliedSpec) !== wanted;
  return [
    ...[run, run?.rollback].flatMap((one) => (one ? [one as Origin] : [])),
    { digest: release?.digest, commit: release?.commit.commit },
    { digest: lastAppliedSpec, commit: lastAppliedCommit },
    ...rejected.toReversed(),
    ...(isBack ? [] : older),
  ];
}

/** A commit with subject and author, if head, a record, an incident or the history has them. */
export function commitInFull(
  { head, records = [], status }: CommitMemory,
  commit: string,
  subject: string | undefined,
): CommitInfo {
  const release = head?.kind === 'release' ? [head.release, head.ledger] : [];
  const known = [...release, ...records].find((one) => one?.commit.commit === commit && one.commit.subject);
  if (known) return known.commit;
  const incident = status.incidents?.find((one) => one.commit === commit);
  const entry = [...(status.history ?? []), ...(status.serving ?? [])].find((one) => one.commit === commit);
  return {
    commit,
    subject: subject ?? entry?.subject ?? incident?.subject ?? '',
    author: incident?.author ?? '',
    time: '',
  };
}
