import { gitPart, isDigest } from '../api/digest.ts';
import type { CommitInfo } from '../api/observed.ts';
import type { World } from './world.ts';

/** What remembers which commit a digest came from; the status alone is enough. */
export type CommitMemory = Pick<World, 'status'> & Partial<Pick<World, 'head' | 'records' | 'rejected'>>;

/**
 * The commit that brought a digest to this Canary: what is under way and head, then what was started last, then what was rejected, proven
 * and kept. Commits that never touched the release are in none of them. Config outside Git makes no difference. Undefined where nobody
 * remembers one.
 */
export function commitOfDigest(world: CommitMemory, digest: string): CommitInfo | undefined {
  if (!isDigest(digest)) return undefined;
  const wanted = gitPart(digest);
  const named = namings(world).find((one) => one.commit && one.digest && gitPart(one.digest) === wanted);
  return named?.commit ? commitInFull(world, named.commit, named.subject) : undefined;
}

interface Naming {
  readonly digest: string | undefined;
  readonly commit: string | undefined;
  readonly subject?: string | undefined;
}

/** Digests with their commits, the most current first. */
function namings({ status, head, records = [], rejected = status.rejected ?? [] }: CommitMemory): Naming[] {
  const { run, lastAppliedSpec, lastAppliedCommit, lastKnownGood, history = [] } = status;
  const release = head?.kind === 'release' ? head.release : undefined;
  return [
    ...(run ? [run as Naming] : []),
    { digest: release?.digest, commit: release?.commit.commit },
    { digest: lastAppliedSpec, commit: lastAppliedCommit },
    ...rejected.toReversed(),
    { digest: lastKnownGood?.digest, commit: lastKnownGood?.commit },
    ...records.map(({ digest, commit }) => ({ digest, commit: commit.commit })),
    ...history,
  ];
}

/** A commit with subject and author, from whoever knows it. */
export function commitInFull(
  { head, records = [], status }: CommitMemory,
  commit: string,
  subject: string | undefined,
): CommitInfo {
  const release = head?.kind === 'release' ? [head.release, head.ledger] : [];
  const known = [...release, ...records].find((one) => one?.commit.commit === commit && one.commit.subject);
  if (known) return known.commit;
  const incident = status.incidents?.find((one) => one.commit === commit);
  const told = [...(status.history ?? []), ...(status.serving ?? [])].find((one) => one.commit === commit);
  const words = subject ?? told?.subject ?? incident?.subject ?? '';
  return { commit, subject: words, author: incident?.author ?? '', time: '' };
}
