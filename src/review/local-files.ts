import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { dirname, join, normalize, relative, resolve, sep } from 'node:path';
import { limits } from '../api/limits.ts';
import type { CommitReader } from '../engine/sync/read/commit-files.ts';
import { GitError } from '../git/errors.ts';
import { isUnsafeName } from '../git/store/tree.ts';
import { isManifest } from '../render/render.ts';
import type { FileProblem, SourceFile } from '../render/rendered-object.ts';
import { isKustomization, type Tree, type TreeEntry, type TreeFile } from '../render/tree.ts';

/** Manifests of a working tree, and what a Source would refuse in it. Paths are shown as they were given. */
interface LocalFiles {
  readonly files: SourceFile[];
  readonly problems: FileProblem[];
}

/** Entries looked at, of any kind, as in a commit. */
const maximumEntries = 50_000;

interface Walk extends LocalFiles {
  entries: number;
}

/**
 * Reads files and folders as a Source reads a commit: .yaml, .yml and .json; links are not followed, other repositories (submodules) and
 * `.git` not entered. Never throws on what it finds; a path that is not there is a problem.
 */
export async function readLocalFiles(paths: readonly string[]): Promise<LocalFiles> {
  const walk: Walk = { files: [], problems: [], entries: 0 };
  for (const path of paths) await readGiven(walk, path);
  const seen = new Set<string>();
  const files = walk.files.filter(({ path }) => !seen.has(path) && seen.add(path));
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), problems: walk.problems };
}

async function readGiven(walk: Walk, path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) report(walk, path, 'does not exist or cannot be read');
  else if (found.isDirectory()) await readFolder(walk, path, 0);
  else if (found.isSymbolicLink()) reportLink(walk, path);
  else if (!isManifest(path))
    report(walk, path, 'is not a .yaml, .yml or .json file, so Sources do not read it');
  else await readManifest(walk, path, found.size);
}

async function readFolder(walk: Walk, folder: string, depth: number): Promise<void> {
  if (depth > limits.sourceFolderDepth) {
    report(walk, folder, `folders are nested deeper than ${limits.sourceFolderDepth}`);
    return;
  }
  const names = await readdir(folder).catch(() => undefined);
  if (!names) {
    report(walk, folder, 'cannot be read');
    return;
  }
  if (depth > 0 && names.includes('.git')) {
    report(
      walk,
      folder,
      'is a repository of its own (a submodule); submodules are not read: copy the manifests or create a Source for the submodule',
    );
    return;
  }
  for (const name of names.sort()) {
    walk.entries += 1;
    if (walk.entries > maximumEntries) {
      report(walk, folder, `there are more than ${maximumEntries} files and folders; choose a smaller path`);
      return;
    }
    if (name !== '.git') await readEntry(walk, join(folder, name), name, depth);
  }
}

async function readEntry(walk: Walk, path: string, name: string, depth: number): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) return;
  if (isUnsafeName(name)) report(walk, path, 'the name is not safe on every file system; rename it');
  else if (found.isSymbolicLink()) {
    if (isManifest(name) || !name.includes('.')) reportLink(walk, path);
  } else if (found.isDirectory()) await readFolder(walk, path, depth + 1);
  else if (found.isFile() && (isManifest(name) || isKustomization(name)))
    await readManifest(walk, path, found.size);
}

/** The size is asked before the file is read: a huge one must not come into memory. */
async function readManifest(walk: Walk, path: string, bytes: number): Promise<void> {
  if (bytes > limits.fileBytes) {
    report(walk, path, `has ${bytes} bytes; at most ${limits.fileBytes} are read: split the file`);
    return;
  }
  if (walk.files.length > limits.sourceFiles) return;
  const content = await readFile(path).catch(() => undefined);
  if (!content) return report(walk, path, 'cannot be read');
  walk.files.push({ path, bytes: content });
  // Several Sources may each be small enough, so that nobody else would say it.
  const most = limits.sourceFiles;
  if (walk.files.length > most)
    report(
      walk,
      dirname(path),
      `there are more than ${most} manifests, of which the others are not read; choose a smaller path`,
    );
}

function reportLink(walk: Walk, path: string): void {
  report(walk, path, 'symbolic links are not followed; replace it with the file it points to');
}

function report(walk: Walk, path: string, message: string): void {
  walk.problems.push({ file: path, line: 0, message });
}

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
function contentId(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function refused(message: string): TreeEntry {
  return { kind: 'refused', message };
}

// The files of a working tree, what is not committed included, in the place of a commit.

/** Reads the working tree at this folder, regardless of the commit. Throws GitError PathNotFound for a folder that is not there. */
export function workingTree(root: string): CommitReader {
  const { tree } = localFolder(root);
  const rooted = (path: string) => relative(root, path).split(sep).join('/');
  const demand = async (folder: string) => {
    const entry = (await tree.read([folder])).get(folder);
    if (entry?.kind !== 'folder')
      throw new GitError('PathNotFound', `spec.path: ${folder} is not a folder in the working tree`);
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
