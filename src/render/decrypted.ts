import { type Decryption, formsOf, hideSecrets } from './sops/decrypt.ts';
import type { Tree, TreeEntry, TreeFile } from './tree.ts';
import type { FileProblem, RenderLimits, SourceFile } from './types.ts';

/** What a Source selects, without encryption. Content goes to the renderers alone; `hide` keeps it out of messages. */
export interface DecryptedSource {
  readonly files: readonly SourceFile[];
  readonly problems: readonly FileProblem[];
  readonly tree: Tree;
  readonly hide: (problem: FileProblem) => FileProblem;
}

/** Decrypts files where they are read, so that every renderer sees content whose integrity was checked. */
export function decrypted(
  files: readonly SourceFile[],
  tree: Tree,
  decryption: Decryption,
  limits: RenderLimits,
): DecryptedSource {
  const secrets = new Set<string>();
  const open = (path: string, bytes: Uint8Array) => {
    const opened = decryption.open({ path, bytes }, limits);
    for (const secret of formsOf(opened?.bytes ? opened.secrets : [])) secrets.add(secret);
    return opened;
  };
  const problems: FileProblem[] = [];
  const plain = files.flatMap((file): SourceFile[] => {
    const opened = open(file.path, file.bytes);
    if (!opened) return [file];
    if (opened.problem) problems.push(opened.problem);
    const oid = file.oid === undefined ? {} : { oid: `${file.oid}${separator}${decryption.id}` };
    return opened.bytes ? [{ path: file.path, bytes: opened.bytes, ...oid }] : [];
  });
  const entry = (path: string, found: TreeEntry): TreeEntry => {
    const opened = found.kind === 'file' ? open(path, found.bytes) : undefined;
    if (found.kind !== 'file' || !opened) return found;
    if (opened.problem) return { kind: 'refused', message: opened.problem.message };
    return { kind: 'file', oid: `${found.oid}${separator}${decryption.id}`, bytes: opened.bytes };
  };
  return {
    files: plain,
    problems,
    tree: {
      async read(paths) {
        return new Map([...(await tree.read(paths))].map(([path, found]) => [path, entry(path, found)]));
      },
      async readAll(folder) {
        const read = await tree.readAll(folder);
        const refused: Array<{ path: string; message: string }> = [];
        const opened = [...read.files].flatMap(([path, file]): Array<[string, TreeFile]> => {
          const found = entry(path, file);
          if (found.kind === 'refused') refused.push({ path, message: found.message });
          return found.kind === 'file' ? [[path, found]] : [];
        });
        return { files: new Map(opened), problems: [...read.problems, ...refused] };
      },
    },
    hide: (problem) =>
      secrets.size === 0 ? problem : { ...problem, message: hideSecrets(problem.message, secrets) },
  };
}

const separator = '+';

/** Git's id of a file, whatever was made of its content. */
export function blobId(oid: string): string {
  return oid.split(separator, 1)[0] ?? oid;
}
