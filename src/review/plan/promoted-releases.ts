/** What is promoted of each Canary, rendered from the same clone as the two sides. */
import type { Source } from '../../api/source/source.ts';
import { GitError } from '../../git/errors.ts';
import type { LocalRepository } from '../../git/store/local-repository.ts';
import type { Promoted } from './canary-plan.ts';
import type { PromotedState } from './promoted-state.ts';
import { renderSide, type SideParts } from './rendered-source.ts';
import type { RenderedSource } from './request.ts';

/** Different commits that are rendered for one Source; further Canaries are reported without a comparison. */
const mostCommits = 20;

/** What is promoted of these Canaries, with the release at that commit as far as the clone holds it. */
export async function promotedOf(
  parts: SideParts,
  { source, repository }: { source: Source; repository: LocalRepository },
  states: ReadonlyMap<string, PromotedState>,
): Promise<{ promoted: Map<string, Promoted>; sides: Map<string, RenderedSource> }> {
  const byCommit = new Map<string, AtCommit | undefined>();
  const sides = new Map<string, RenderedSource>();
  const promoted = new Map<string, Promoted>();
  for (const [key, state] of states) {
    const commit = state.promoted?.commit;
    if (commit && !byCommit.has(commit) && byCommit.size < mostCommits)
      byCommit.set(commit, await atCommit(parts, { source, repository }, commit));
    const found = commit ? byCommit.get(commit) : undefined;
    if (found) sides.set(key, found.side);
    const release = found?.side.canaries.get(key)?.release;
    // A status keeps the subjects of some releases only.
    const lacksSubject = state.promoted?.subject === '';
    const named = { ...state, promoted: { commit: commit ?? '', subject: found?.subject ?? '' } };
    promoted.set(key, { state: lacksSubject ? named : state, release });
  }
  return { promoted, sides };
}

interface AtCommit {
  readonly side: RenderedSource;
  readonly subject: string;
}

/** Undefined for a commit that a shallow clone does not hold. */
async function atCommit(
  parts: SideParts,
  { source, repository }: { source: Source; repository: LocalRepository },
  commit: string,
): Promise<AtCommit | undefined> {
  try {
    const { info } = await repository.commitAt(commit);
    return {
      side: await renderSide(parts, source, { reader: repository, commit: info }),
      subject: info.subject,
    };
  } catch (error) {
    if (error instanceof GitError) return undefined;
    throw error;
  }
}
