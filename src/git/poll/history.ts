import { limits } from '../../api/limits.ts';
import type { Ancestry } from '../../contracts/git.ts';
import { GitError } from '../errors.ts';
import { readCommitObject } from '../store/objects.ts';
import type { Session } from '../store/session.ts';

/** History lengths asked for, one after the other, until the question is answered (design section 5). */
const DEPTHS = [50, 250, limits.ancestryCommits];
/** Limit of commits that are visited in the store; it may hold more history than one deepening fetches. */
const MAX_WALKED = 20_000;

/**
 * Whether `commit` descends from `ancestor` (or is it). History is lengthened up to 1,000 commits to know;
 * after that, or when the server sends too much, the answer is unknown.
 */
export async function ancestry(session: Session, commit: string, ancestor: string): Promise<Ancestry> {
  let answer = await walk(session, commit, ancestor);
  for (const depth of DEPTHS) {
    if (answer !== 'unknown') return answer;
    if (!(await deepened(session, commit, depth))) return 'unknown';
    answer = await walk(session, commit, ancestor);
  }
  return answer;
}

async function deepened(session: Session, commit: string, depth: number): Promise<boolean> {
  try {
    await session.deepen(commit, depth);
    return true;
  } catch (error) {
    // Not knowing is an answer here; only a server that cannot be asked at all is a failure.
    if (error instanceof GitError && (error.code === 'TooLarge' || error.code === 'NotFound')) return false;
    throw error;
  }
}

/** Breadth first over what the store holds; with a missing parent the answer is unknown. */
async function walk({ reader, pause }: Session, commit: string, ancestor: string): Promise<Ancestry> {
  const seen = new Set([commit]);
  let isCut = false;
  for (const oid of seen) {
    if (oid === ancestor) return 'yes';
    if (seen.size > MAX_WALKED) return 'unknown';
    await pause();
    const found = await readCommitObject(reader, oid);
    if (!found) isCut = true;
    for (const parent of found?.parents ?? []) seen.add(parent);
  }
  return isCut ? 'unknown' : 'no';
}
