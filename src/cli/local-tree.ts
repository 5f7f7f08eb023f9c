import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { dirname, join, normalize, relative, resolve, sep } from 'node:path';
import { limits } from '../api/limits.ts';
import { isUnsafeName } from '../git/tree.ts';
import type { Tree, TreeEntry, TreeFile } from '../render/tree.ts';

/** A folder of a working tree as a Source's path: where its repository begins, and how its paths are shown. */
export interface LocalFolder {
  /** From the repository's root, with `/`; empty for the root itself. */
  readonly folder: string;
  readonly tree: Tree;
  /** A path from the root, as it is shown: the way the folder was given. */
  readonly shown: (path: string) => string;
}

/** Looks for the repository that a folder belongs to; a folder of none is its own root. */
export function localFolder(given: string): LocalFolder {
  const start = resolve(given);
  const root = repositoryOf(start) ?? start;
  const folder = relative(root, start).split(sep).join('/');
  const shownRoot = normalize(join(given, relative(start, root) || '.'));
  return {
    folder,
    tree: localTree(root),
    shown(path) {
      const isBelow = folder === '' || path === folder || path.startsWith(`${folder}/`);
      return isBelow ? join(given, path.slice(folder.length)) : join(shownRoot, path);
    },
  };
}

function repositoryOf(start: string): string | undefined {
  for (let at = start; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at;
    if (dirname(at) === at) return undefined;
  }
}

/** Files as they are on disk now, links refused as in a commit. */
function localTree(root: string): Tree {
  return {
    async read(paths) {
      const found = new Map<string, TreeEntry>();
      for (const path of paths) {
        const entry = await entryAt(root, path);
        if (entry) found.set(path, entry);
      }
      return found;
    },
    async readAll(folder) {
      const files = new Map<string, TreeFile>();
      const problems: Array<{ path: string; message: string }> = [];
      const pending = [folder];
      for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
        const entry = await entryAt(root, path);
        if (entry?.kind === 'refused') problems.push({ path, message: entry.message });
        if (entry?.kind === 'file') files.set(path, entry);
        if (entry?.kind === 'folder')
          pending.push(...entry.names.map((name) => (path ? `${path}/${name}` : name)));
        if (files.size + pending.length <= limits.renderInputFiles) continue;
        problems.push({ path: folder, message: `holds more than ${limits.renderInputFiles} files` });
        break;
      }
      return { files, problems };
    },
  };
}

async function entryAt(root: string, path: string): Promise<TreeEntry | undefined> {
  let at = root;
  for (const segment of path === '' ? [] : path.split('/')) {
    if (isUnsafeName(segment)) return refused('has a name that is not safe on every file system');
    at = join(at, segment);
    const found = await lstat(at).catch(() => undefined);
    if (!found) return undefined;
    if (found.isSymbolicLink()) return refused('is or leads through a symbolic link; links are not followed');
  }
  const found = await lstat(at).catch(() => undefined);
  if (found?.isDirectory()) {
    const names = (await readdir(at)).filter((name) => name !== '.git').sort();
    return { kind: 'folder', oid: '', names };
  }
  if (!found?.isFile()) return undefined;
  if (found.size > limits.renderInputFileBytes)
    return refused(`has ${found.size} bytes; at most ${limits.renderInputFileBytes} are read`);
  const bytes = await readFile(at);
  return { kind: 'file', oid: contentId(bytes), bytes };
}

/** Equal for equal content; no id of Git's. */
export function contentId(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function refused(message: string): TreeEntry {
  return { kind: 'refused', message };
}
