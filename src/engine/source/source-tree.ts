import { limits } from '../../api/limits.ts';
import type { Tree, TreeFile } from '../../render/tree.ts';
import type { Repository } from '../ports/git-port.ts';
import type { CommitReader, Snapshot } from './source-parts.ts';

const maxFileBytes = limits.renderInputFileBytes;

/** A commit as renderers look at it. Its methods throw Git's errors. */
export function treeAt(repository: CommitReader, commit: string, signal: AbortSignal): Tree {
  return {
    read: (paths) => repository.entriesAt(commit, paths, { signal, maxFileBytes }),
    async readAll(folder) {
      const { files, problems } = await repository.readFiles(commit, folder, {
        signal,
        alsoRead: () => true,
        anyBytes: true,
        limits: { maxFiles: limits.renderInputFiles, maxFileBytes, maxTotalBytes: limits.renderInputBytes },
      });
      const found = files.map(({ path, oid, bytes }): [string, TreeFile] => [
        path,
        { kind: 'file', oid, bytes },
      ]);
      return { files: new Map(found), problems };
    },
  };
}

/** Whether a commit holds the same files outside the Source's path that a snapshot was rendered from. */
export async function isOutsideKept(
  repository: Repository,
  commit: string,
  { outside }: Pick<Snapshot, 'outside'>,
  signal: AbortSignal,
): Promise<boolean> {
  if (outside.size === 0) return true;
  const entries = await repository.entriesAt(commit, [...outside.keys()], { signal, maxFileBytes });
  return [...outside].every(([path, oid]) => {
    const entry = entries.get(path);
    return entry?.kind === 'file' && entry.oid === oid;
  });
}
