import { gitPart } from '../../../api/canary/status.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { CommitInfo } from '../../../api/observed.ts';
import type { Release } from '../../../release/release.ts';
import type { HeadView } from '../../../rollout/world.ts';

/** What one Source says about one Canary. */
export interface Head {
  readonly view: HeadView;
  /** Bytes of the release; present when `view.kind` is `release`. */
  readonly release?: Release;
  /** Bytes of `view.ledger`. */
  readonly ledger?: Release;
  /** The scaler that the Canary names, where the Source holds it. */
  readonly scaler?: KubernetesObject;
  /** The commit that the Source stood at when it said this; the release's own is the one that introduced its digest. */
  readonly at?: string;
  /** What the Source holds under the names of the Canary's Services and routes. */
  readonly shared?: readonly KubernetesObject[] | undefined;
}

/** The head under another commit, in its view and in its bytes. */
function withCommit(head: Head, commit: CommitInfo): Head {
  const { view, release } = head;
  if (view.kind !== 'release') return head;
  const bytes = release && { release: { ...release, commit } };
  return { ...head, ...bytes, view: { ...view, release: { ...view.release, commit } } };
}

/** Whether two heads say different things. */
export function differs(before: Head | undefined, after: Head | undefined): boolean {
  const said = (head: Head | undefined) => JSON.stringify([head?.view, head?.scaler, head?.shared]);
  return said(before) !== said(after);
}

/** Remembers, by Source and Canary, which commit introduced the digest at head: a release is known by that one, not by the newest that still has it. */
interface ReleaseCommits {
  /** The heads as a Source says them now, under the commits that introduced their digests. */
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

/** Which commit introduced the digest at head. */
interface DigestOrigin {
  /** Git's part; empty after the workload was missing: then whatever comes is new. */
  readonly digest: string;
  commit: CommitInfo | undefined;
  /** This process saw it come, or the Canary was asked. */
  isRecalled: boolean;
}

type OriginsByCanary = Map<string, DigestOrigin>;

/** Nothing is known yet. */
export function createReleaseCommits(): ReleaseCommits {
  const bySource = new Map<string, OriginsByCanary>();
  return {
    settle(sourceKey, said, before) {
      const now = originsOf(said, bySource.get(sourceKey));
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

/** While the files of a Canary are broken, its former origin is remembered. */
function originsOf(heads: ReadonlyMap<string, Head>, before: OriginsByCanary | undefined): OriginsByCanary {
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

/** A head under the commits that introduced its releases. */
function settled(head: Head, origin: DigestOrigin | undefined, before: Head | undefined): Head {
  if (head.view.kind !== 'release') return head;
  const { commit } = head.view.release.commit;
  const named = { ...(origin?.commit ? withCommit(head, origin.commit) : head), at: commit };
  return withLedgerCommit(named, before);
}

function withLedgerCommit(head: Head, before: Head | undefined): Head {
  const { view, ledger } = head;
  const old = before?.view.kind === 'release' ? before.view.ledger : undefined;
  if (view.kind !== 'release' || !view.ledger || !ledger || old?.digest !== view.ledger.digest) return head;
  const { commit } = old;
  return { ...head, ledger: { ...ledger, commit }, view: { ...view, ledger: { ...view.ledger, commit } } };
}
