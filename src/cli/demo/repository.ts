import { InputError } from '../../app/options.ts';
import { commitFiles, createRepository, revertHead } from '../../sandbox/git-repository.ts';
import { commonFiles, type ManifestOptions, releaseFiles } from './manifests.ts';
import type { Chapter } from './story.ts';

/** The demo's repository and what was committed to it. */
export interface CommitLog {
  /** Commits the release of a chapter, or reverts head; returns the full SHA. */
  add(chapter: Chapter): Promise<string>;
  /** Full SHA of a chapter's commit; empty when it is not committed yet. */
  commitOf(name: Chapter['name']): string;
  /** Release of a commit: v1, v2, v3; the revert of v3 is v2 again. The short SHA for others. */
  nameOf(commit: string): string;
}

/** Creates `shop.git`, bare and empty, in the folder. Throws InputError without git. */
export async function createCommits(root: string, manifests: ManifestOptions): Promise<CommitLog> {
  const repository = await createRepository(root, 'shop').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new InputError('the demo needs git; install it and try again');
    throw error;
  });
  const commits = new Map<string, string>();
  return {
    async add({ name, subject, env }) {
      const common = commits.size === 0 ? commonFiles(manifests) : {};
      const commit = env
        ? await commitFiles(repository, { subject, files: { ...common, ...releaseFiles(manifests, env) } })
        : await revertHead(repository);
      commits.set(name, commit);
      return commit;
    },
    commitOf: (name) => commits.get(name) ?? '',
    nameOf(commit) {
      const found = [...commits].find(([, sha]) => sha === commit)?.[0];
      return found === 'revert' ? 'v2' : (found ?? commit.slice(0, 7));
    },
  };
}
