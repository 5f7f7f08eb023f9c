/** The files of a commit. */
import { createHash } from 'node:crypto';
import { limits } from '../../../api/limits.ts';
import type { CommitEntry, Repository } from '../../../contracts/git.ts';
import type { Tree, TreeFile } from '../../../render/tree.ts';

/** What is asked of a repository to read one commit of it. */
export type CommitReader = Pick<Repository, 'treeOidAt' | 'readFiles' | 'entriesAt'> &
  Partial<Pick<Repository, 'rendering'>>;

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
export async function isOutsideUnchanged(
  repository: Repository,
  commit: string,
  outside: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<boolean> {
  if (outside.size === 0) return true;
  const entries = await repository.entriesAt(commit, [...outside.keys()], { signal, maxFileBytes });
  return [...outside].every(([path, oid]) => {
    const entry = entries.get(path);
    return entry?.kind === 'file' && entry.oid === oid;
  });
}

/** New content of files by path; undefined takes a file out. */
export type FileChanges = ReadonlyMap<string, Uint8Array | undefined>;

/** The repository as if a commit had been made with these files. */
export function withChanges(repository: Repository, changes: FileChanges): Repository {
  if (changes.size === 0) return repository;
  return {
    ...repository,
    async readFiles(commit, path, options) {
      const read = await repository.readFiles(commit, path, options);
      const kept = read.files.filter((file) => !changes.has(file.path));
      const inside = [...changes].filter(([file]) => path === '' || file.startsWith(`${path}/`));
      const added = inside.flatMap(([file, bytes]) =>
        bytes ? [{ path: file, oid: changedId(bytes), bytes }] : [],
      );
      return { ...read, files: [...kept, ...added].sort((a, b) => (a.path < b.path ? -1 : 1)) };
    },
    async entriesAt(commit, paths, options) {
      const found = new Map(await repository.entriesAt(commit, paths, options));
      for (const path of paths) {
        const entry = changedEntry(path, found.get(path), changes);
        if (entry) found.set(path, entry);
        else found.delete(path);
      }
      return found;
    },
  };
}

function changedEntry(
  path: string,
  entry: CommitEntry | undefined,
  changes: FileChanges,
): CommitEntry | undefined {
  const bytes = changes.get(path);
  if (bytes) return { kind: 'file', oid: changedId(bytes), bytes };
  if (changes.has(path)) return undefined;
  if (entry?.kind !== 'folder') return entry;
  const names = new Set(entry.names);
  for (const [file, content] of changes) {
    const slash = file.lastIndexOf('/');
    if (file.slice(0, Math.max(0, slash)) !== path) continue;
    if (content) names.add(file.slice(slash + 1));
    else names.delete(file.slice(slash + 1));
  }
  return { ...entry, names: [...names] };
}

/** An id that no blob of Git has, and that is another one for other bytes. */
function changedId(bytes: Uint8Array): string {
  return `changed ${createHash('sha256').update(bytes).digest('hex')}`;
}
