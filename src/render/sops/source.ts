import { createPause } from '../../api/clock.ts';
import type { FileProblem, RenderLimits, SourceFile } from '../rendered-object.ts';
import type { Tree, TreeEntry, TreeFile } from '../tree.ts';
import type { Decryption } from './decrypt.ts';
import { createHiding } from './hiding.ts';

/** What a Source selects, without encryption. Content goes to the renderers alone; `hide` keeps it out of messages. */
interface DecryptedSource {
  readonly files: readonly SourceFile[];
  readonly problems: readonly FileProblem[];
  readonly tree: Tree;
  readonly hide: (problem: FileProblem) => FileProblem;
  /** What these files hold that was encrypted. */
  readonly secretsIn: (paths: Iterable<string>) => readonly string[];
}

/** Decrypts files where they are read, so that every renderer sees content whose integrity was checked. Throws the signal's reason. */
export async function decrypted(
  files: readonly SourceFile[],
  tree: Tree,
  decryption: Decryption,
  { limits, signal }: { limits: RenderLimits; signal: AbortSignal },
): Promise<DecryptedSource> {
  const hiding = createHiding();
  const secrets = new Map<string, readonly string[]>();
  const pause = createPause(signal);
  const open = async (path: string, bytes: Uint8Array) => {
    await pause();
    const opened = await decryption.open({ path, bytes }, limits, pause);
    if (opened?.bytes) {
      hiding.add(opened.secrets);
      secrets.set(path, opened.secrets);
    }
    return opened;
  };
  const problems: FileProblem[] = [];
  const plain: SourceFile[] = [];
  for (const file of files) {
    const opened = await open(file.path, file.bytes);
    const oid = file.oid === undefined ? {} : { oid: `${file.oid}${separator}${decryption.id}` };
    if (!opened) plain.push(file);
    else if (opened.problem) problems.push(opened.problem);
    else plain.push({ path: file.path, bytes: opened.bytes, ...oid });
  }
  const entry = async (path: string, found: TreeEntry): Promise<TreeEntry> => {
    const opened = found.kind === 'file' ? await open(path, found.bytes) : undefined;
    if (found.kind !== 'file' || !opened) return found;
    if (opened.problem) return { kind: 'refused', message: opened.problem.message };
    return { kind: 'file', oid: `${found.oid}${separator}${decryption.id}`, bytes: opened.bytes };
  };
  return {
    files: plain,
    problems,
    tree: {
      async read(paths) {
        const entries = new Map<string, TreeEntry>();
        for (const [path, found] of await tree.read(paths)) entries.set(path, await entry(path, found));
        return entries;
      },
      async readAll(folder) {
        const read = await tree.readAll(folder);
        const refused: Array<{ path: string; message: string }> = [];
        const opened = new Map<string, TreeFile>();
        for (const [path, file] of read.files) {
          const found = await entry(path, file);
          if (found.kind === 'refused') refused.push({ path, message: found.message });
          if (found.kind === 'file') opened.set(path, found);
        }
        return { files: opened, problems: [...read.problems, ...refused] };
      },
    },
    hide: (problem) => ({ ...problem, message: hiding.hide(problem.message) }),
    secretsIn: (paths) => [...paths].flatMap((path) => secrets.get(path) ?? []),
  };
}

const separator = '+';

/** Git's id of a file, whatever was made of its content. */
export function blobId(oid: string): string {
  return oid.split(separator, 1)[0] ?? oid;
}
