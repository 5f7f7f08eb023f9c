import { createHash } from 'node:crypto';
import type { Tree, TreeEntry, TreeFile } from './tree.ts';

/** A tree that is given as its files; `undefined` in place of a content stands for a symbolic link. */
export function memoryTree(files: Readonly<Record<string, string | undefined>>): Tree {
  const folders = new Map<string, Set<string>>();
  for (const path of Object.keys(files)) {
    const segments = path.split('/');
    for (const [depth, name] of segments.entries()) {
      const folder = segments.slice(0, depth).join('/');
      folders.set(folder, (folders.get(folder) ?? new Set()).add(name));
    }
  }
  const entry = (path: string): TreeEntry | undefined => {
    if (path in files) {
      const content = files[path];
      return content === undefined
        ? { kind: 'refused', message: 'is or leads through a symbolic link; links are not followed' }
        : treeFile(content);
    }
    const names = folders.get(path);
    return names && { kind: 'folder', oid: `tree ${path}`, names: [...names] };
  };
  return {
    async read(paths) {
      return new Map(paths.flatMap((path) => [[path, entry(path)] as const].filter(isThere)));
    },
    async readAll(folder) {
      const inside = Object.entries(files).filter(([path]) => folder === '' || path.startsWith(`${folder}/`));
      const found = inside.flatMap(
        ([path, content]): Array<[string, TreeFile]> =>
          content === undefined ? [] : [[path, treeFile(content)]],
      );
      const links = inside.filter(([, content]) => content === undefined);
      return {
        files: new Map(found),
        problems: links.map(([path]) => ({ path, message: 'symbolic links are not followed' })),
      };
    },
  };
}

/** A file with an id of its content, as Git would give it. */
export function treeFile(content: string): TreeFile {
  const bytes = new TextEncoder().encode(content);
  return { kind: 'file', oid: createHash('sha1').update(bytes).digest('hex'), bytes };
}

function isThere(pair: readonly [string, TreeEntry | undefined]): pair is readonly [string, TreeEntry] {
  return pair[1] !== undefined;
}
