/** Which commit a release at head is known by: the one that brought its digest, not the newest one that still has it. */
import { gitPart } from '../../api/digest.ts';
import type { CommitInfo } from '../../api/observed.ts';
import { type Head, withCommit } from './head.ts';

/** Remembers, by Source and Canary, the commits that brought what is at head. */
export interface BroughtCommits {
  /** The heads as a Source says them now, under the commits that brought their digests. */
  settle(
    sourceKey: string,
    said: ReadonlyMap<string, Head>,
    before: ReadonlyMap<string, Head> | undefined,
  ): Map<string, Head>;
  /** The head under the commit that `commitOf` knows for its digest; undefined where that was asked before, or says nothing new. */
  recall(
    sourceKey: string,
    canaryKey: string,
    head: Head | undefined,
    commitOf: (digest: string) => CommitInfo | undefined,
  ): Head | undefined;
  forget(sourceKey: string): void;
}

/** Which commit brought the digest at head. */
interface Brought {
  /** Git's part; empty after the workload was away: then whatever comes is brought anew. */
  readonly digest: string;
  commit: CommitInfo | undefined;
  /** This process saw it come, or the Canary was asked. */
  isRecalled: boolean;
}

type BroughtByCanary = Map<string, Brought>;

/** Nothing is known yet. */
export function createBroughtCommits(): BroughtCommits {
  const bySource = new Map<string, BroughtByCanary>();
  return {
    settle(sourceKey, said, before) {
      const now = broughtBy(said, bySource.get(sourceKey));
      bySource.set(sourceKey, now);
      return new Map([...said].map(([key, head]) => [key, settled(head, now.get(key), before?.get(key))]));
    },
    recall(sourceKey, canaryKey, head, commitOf) {
      const entry = bySource.get(sourceKey)?.get(canaryKey);
      if (!entry || !head || entry.isRecalled) return undefined;
      entry.isRecalled = true;
      const known = commitOf(entry.digest);
      if (!known || known.commit === entry.commit?.commit) return undefined;
      entry.commit = known;
      return withCommit(head, known);
    },
    forget: (sourceKey) => void bySource.delete(sourceKey),
  };
}

/** While the files of a Canary are broken, what was brought before is remembered. */
function broughtBy(heads: ReadonlyMap<string, Head>, before: BroughtByCanary | undefined): BroughtByCanary {
  const entries = [...heads].flatMap(([key, { view }]) => {
    const old = before?.get(key);
    if (view.kind === 'unknown') return old ? [[key, old] as const] : [];
    if (view.kind === 'missing') return [[key, { digest: '', commit: undefined, isRecalled: true }] as const];
    const { digest, commit } = view.release;
    const now = { digest: gitPart(digest), commit, isRecalled: old !== undefined };
    return [[key, old?.digest === now.digest ? old : now] as const];
  });
  return new Map(entries);
}

/** A head as it was said, under the commits that brought its releases. */
function settled(head: Head, brought: Brought | undefined, before: Head | undefined): Head {
  if (head.view.kind !== 'release') return head;
  const { commit } = head.view.release.commit;
  const named = { ...(brought?.commit ? withCommit(head, brought.commit) : head), at: commit };
  return withLedgerCommit(named, before);
}

function withLedgerCommit(head: Head, before: Head | undefined): Head {
  const { view, ledger } = head;
  const old = before?.view.kind === 'release' ? before.view.ledger : undefined;
  if (view.kind !== 'release' || !view.ledger || !ledger || old?.digest !== view.ledger.digest) return head;
  const { commit } = old;
  return { ...head, ledger: { ...ledger, commit }, view: { ...view, ledger: { ...view.ledger, commit } } };
}
