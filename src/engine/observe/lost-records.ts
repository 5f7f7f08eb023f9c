import type { Clock } from '../../api/clock.ts';
import { gitPart, livePart } from '../../api/digest.ts';
import { type Release, withLivePart } from '../../release/release.ts';
import type { Reproduced } from '../canary/after-revert.ts';
import type { Heads } from './heads.ts';

/** Looks in Git for releases whose record is damaged. A release is taken only when its digest is the one that was lost. */
export interface LostRecords {
  /** The release with this digest, if Git gives it; asks for `commit` in the background when head is another one. */
  find(canaryKey: string, lost: { readonly digest: string; readonly commit: string }): Release | undefined;
  /** The release, if it was found before. */
  of(canaryKey: string, digest: string): Release | undefined;
}

/** A commit that could not be rendered is tried again after this time. */
const retryMs = 240_000;

interface Search {
  readonly digest: string;
  readonly startedMs: number;
  release?: Release;
}

/** Nothing was looked for yet. `onFound` is called when a release is there. */
export function createLostRecords(
  heads: Pick<Heads, 'of' | 'earlier'>,
  reproduce: (canaryKey: string, commit: string) => Promise<Reproduced>,
  clock: Clock,
  onFound: (canaryKey: string) => void,
): LostRecords {
  const searches = new Map<string, Search>();

  async function search(canaryKey: string, commit: string, entry: Search): Promise<void> {
    const again = await reproduce(canaryKey, commit);
    if (!again.release || gitPart(again.release.digest) !== gitPart(entry.digest)) return;
    entry.release = withLivePart(again.release, livePart(entry.digest));
    onFound(canaryKey);
  }

  function of(canaryKey: string, digest: string): Release | undefined {
    const head = heads.of(canaryKey).release;
    if (head?.digest === digest) return head;
    const found = searches.get(canaryKey);
    return heads.earlier(canaryKey, digest) ?? (found?.digest === digest ? found.release : undefined);
  }

  return {
    of,
    find(canaryKey, { digest, commit }) {
      const known = of(canaryKey, digest);
      if (known || commit === '') return known;
      const before = searches.get(canaryKey);
      if (before?.digest === digest && clock.nowMs() - before.startedMs < retryMs) return undefined;
      const entry: Search = { digest, startedMs: clock.nowMs() };
      searches.set(canaryKey, entry);
      void search(canaryKey, commit, entry);
      return undefined;
    },
  };
}
