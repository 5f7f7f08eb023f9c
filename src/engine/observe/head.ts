import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { CommitInfo } from '../../api/observed.ts';
import type { Release } from '../../release/release.ts';
import type { HeadView } from '../../rollout/world.ts';

/** What one Source says about one Canary. */
export interface Head {
  readonly view: HeadView;
  /** Bytes of the release; present when `view.kind` is `release`. */
  readonly release?: Release;
  /** Bytes of `view.ledger`. */
  readonly ledger?: Release;
  /** The scaler that the Canary names, where the Source holds it. */
  readonly scaler?: KubernetesObject;
  /** The commit that the Source stood at when it said this; the release's own is the one that brought its digest. */
  readonly at?: string;
  /** What the Source holds under the names of the Canary's Services and routes. */
  readonly shared?: readonly KubernetesObject[] | undefined;
  /** User that what the Source holds is written as; undefined: Holdfast itself. */
  readonly actAs?: string;
}

/** The head under another commit, in its view and in its bytes. */
export function withCommit(head: Head, commit: CommitInfo): Head {
  const { view, release } = head;
  if (view.kind !== 'release') return head;
  const bytes = release && { release: { ...release, commit } };
  return { ...head, ...bytes, view: { ...view, release: { ...view.release, commit } } };
}

/** Whether two heads say different things. */
export function differs(before: Head | undefined, after: Head | undefined): boolean {
  const said = (head: Head | undefined) =>
    JSON.stringify([head?.view, head?.scaler, head?.shared, head?.actAs]);
  return said(before) !== said(after);
}
