import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '../api/limits.ts';
import { isUnsafeName } from '../git/tree.ts';
import { isKustomization } from '../render/kustomize/collect.ts';
import { isManifest } from '../render/render.ts';
import type { FileProblem, SourceFile } from '../render/types.ts';

/** Manifests of a working tree, and what a Source would refuse in it. Paths are shown as they were given. */
export interface LocalFiles {
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
  else if (!isManifest(path)) report(walk, path, 'is no .yaml, .yml or .json file, so no Source reads it');
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
      'is a repository of its own (a submodule); submodules are not read: copy the manifests or make a Source of their own',
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
  if (content) walk.files.push({ path, bytes: content });
  else report(walk, path, 'cannot be read');
}

function reportLink(walk: Walk, path: string): void {
  report(walk, path, 'symbolic links are not followed; replace it by the file it points at');
}

function report(walk: Walk, path: string, message: string): void {
  walk.problems.push({ file: path, line: 0, message });
}
