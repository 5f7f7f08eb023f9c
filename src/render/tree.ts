/** Content of a file at a path, with Git's id of it. */
export interface TreeFile {
  readonly kind: 'file';
  readonly oid: string;
  readonly bytes: Uint8Array;
}

/** What a tree holds at a path. `refused`: something that is never read, such as a symbolic link. */
export type TreeEntry =
  | TreeFile
  | { readonly kind: 'folder'; readonly oid: string; readonly names: readonly string[] }
  | { readonly kind: 'refused'; readonly message: string };

/** One commit, or a working tree, as renderers look at it. Paths are relative to the repository's root, with `/`. */
export interface Tree {
  /** Entries by path; nothing for a path that is not there. A path that leads through a link is `refused`. */
  read(paths: readonly string[]): Promise<ReadonlyMap<string, TreeEntry>>;
  /** Every file below a folder by path, and what could not be read in it. */
  readAll(folder: string): Promise<{
    readonly files: ReadonlyMap<string, TreeFile>;
    readonly problems: ReadonlyArray<{ readonly path: string; readonly message: string }>;
  }>;
}

/** A path that a file in `folder` writes, as a path from the root; undefined when it is outside the repository. */
export function pathFrom(folder: string, reference: string): string | undefined {
  const segments = folder === '' ? [] : folder.split('/');
  for (const segment of reference.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) return undefined;
  }
  return segments.join('/');
}

/** The folder of a path; empty for the root. */
export function folderOfPath(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}

/** A path inside a folder. */
export function inside(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** File names that kustomize looks for in a folder. */
export const kustomizationNames = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'] as const;

/** Whether a path is that of a kustomization. */
export function isKustomization(path: string): boolean {
  return (kustomizationNames as readonly string[]).includes(path.slice(path.lastIndexOf('/') + 1));
}
