/** The files of a working tree, what is not committed included, in the place of a commit. */
import { join, relative, sep } from 'node:path';
import type { CommitReader } from '../../engine/source/source-parts.ts';
import { GitError } from '../../git/errors.ts';
import { contentId, localFolder } from '../local-tree.ts';
import { readLocalFiles } from '../validate-files.ts';

/** Reads the working tree at this folder, whatever commit is asked for. Throws GitError PathNotFound for a folder that is not there. */
export function workingTree(root: string): CommitReader {
  const { tree } = localFolder(root);
  const rooted = (path: string) => relative(root, path).split(sep).join('/');
  const demand = async (folder: string) => {
    const entry = (await tree.read([folder])).get(folder);
    if (entry?.kind !== 'folder')
      throw new GitError('PathNotFound', `spec.path: ${folder} is no folder of the working tree`);
  };
  return {
    treeOidAt: async (_, folder) => {
      await demand(folder);
      return '';
    },
    entriesAt: (_, paths) => tree.read(paths),
    async readFiles(_, folder, { anyBytes }) {
      await demand(folder);
      if (anyBytes) {
        const { files, problems } = await tree.readAll(folder);
        return { files: [...files].map(([path, { oid, bytes }]) => ({ path, oid, bytes })), problems };
      }
      const { files, problems } = await readLocalFiles([join(root, folder)]);
      const read = files.map(({ path, bytes }) => ({ path: rooted(path), oid: contentId(bytes), bytes }));
      return {
        files: read,
        problems: problems.map(({ file, message }) => ({ path: rooted(file), message })),
      };
    },
  };
}
