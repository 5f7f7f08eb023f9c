import { limits as defaultLimits } from '../../api/limits.ts';
import type { FileProblem, RenderLimits } from '../rendered-object.ts';
import {
  folderOfPath,
  inside,
  kustomizationNames,
  pathFrom,
  type Tree,
  type TreeEntry,
  type TreeFile,
} from '../tree.ts';
import type { KnownReferences, Reference, References } from './builder.ts';
import { type FileRole, referencesIn } from './references.ts';

/** Bounds of what one kustomization may refer to. */
export interface InputLimits extends RenderLimits {
  readonly renderInputFiles: number;
  readonly renderInputBytes: number;
  readonly renderInputFileBytes: number;
}

/** Every file that building a folder reads, by path; and why it is not built. */
interface Collected {
  readonly files: ReadonlyMap<string, TreeFile>;
  readonly problems: readonly FileProblem[];
}

interface Wanted extends Reference {
  /** Where it is written. */
  readonly file: string;
  readonly target: string;
}

/** Options of collecting. */
interface CollectOptions {
  readonly limits?: InputLimits;
  /** What files referred to when they were read before; used by all Sources. */
  readonly references?: KnownReferences;
}

/** A few hundred bytes each. */
const mostKnown = 20_000;

interface Walk {
  readonly tree: Tree;
  readonly limits: InputLimits;
  readonly references: KnownReferences;
  readonly files: Map<string, TreeFile>;
  readonly seen: Set<string>;
  readonly problems: FileProblem[];
  bytes: number;
}

/**
 * Follows what the kustomization of a folder names, and what its bases name, inside the repository. What is remote, missing, a link or
 * larger than the limits is a problem where it is written. Reads of the tree are made in rounds, all of one round at once.
 */
export async function collectKustomization(
  folder: string,
  tree: Tree,
  { limits = defaultLimits, references = new Map() }: CollectOptions = {},
): Promise<Collected> {
  const walk: Walk = {
    tree,
    limits,
    references,
    files: new Map(),
    seen: new Set([`base ${folder}`]),
    problems: [],
    bytes: 0,
  };
  const start = inside(folder, kustomizationNames[0]);
  const root: Wanted = { path: folder, field: '', line: 0, use: 'base', file: start, target: folder };
  let round: readonly Wanted[] = [root];
  while (round.length > 0 && walk.problems.length === 0) round = await nextRound(walk, round);
  return { files: walk.files, problems: walk.problems };
}

async function nextRound(walk: Walk, wanted: readonly Wanted[]): Promise<Wanted[]> {
  const entries = await walk.tree.read(wanted.map(({ target }) => target));
  const kustomizations = await kustomizationsOf(walk, wanted, entries);
  const next: Wanted[] = [];
  for (const want of wanted) {
    const entry = entries.get(want.target);
    const isFolder = entry?.kind === 'folder' && want.use === 'base';
    next.push(
      ...(isFolder
        ? wantedByKustomization(walk, kustomizations.get(want.target))
        : wantedByFile(walk, want, entry)),
    );
  }
  return next;
}

/** The kustomization file of each wanted folder; a folder with none or several is a problem. */
async function kustomizationsOf(
  walk: Walk,
  wanted: readonly Wanted[],
  entries: ReadonlyMap<string, TreeEntry>,
): Promise<Map<string, { path: string; entry: TreeEntry | undefined }>> {
  const paths = new Map<string, string>();
  for (const want of wanted) {
    const entry = entries.get(want.target);
    if (entry?.kind !== 'folder' || want.use !== 'base') continue;
    const names = kustomizationNames.filter((name) => entry.names.includes(name));
    const [name] = names;
    if (name !== undefined && names.length === 1) paths.set(want.target, inside(want.target, name));
    else
      report(
        walk,
        want,
        `${want.path || 'the folder'} holds ${names.length === 0 ? 'no' : 'more than one'} kustomization file`,
      );
  }
  const found = await walk.tree.read([...paths.values()]);
  return new Map([...paths].map(([folder, path]) => [folder, { path, entry: found.get(path) }]));
}

function wantedByKustomization(
  walk: Walk,
  found: { path: string; entry: TreeEntry | undefined } | undefined,
): Wanted[] {
  if (!found) return [];
  const { path: file, entry } = found;
  const at: Wanted = { path: file, field: '', line: 0, use: 'manifest', file, target: file };
  if (!isKept(walk, at, entry)) return [];
  return follow(walk, { file, folder: folderOfPath(file) }, readingOf(walk, file, entry, 'kustomization'));
}

function wantedByFile(walk: Walk, want: Wanted, entry: TreeEntry | undefined): Wanted[] {
  if (!isKept(walk, want, entry) || want.use === 'data') return [];
  const file = want.target;
  const reading = readingOf(walk, file, entry, want.use === 'config' ? 'config' : 'manifest');
  return follow(walk, { file, folder: folderOfPath(want.file) }, reading);
}

/** What a file refers to depends on its bytes and path alone. */
function readingOf(
  { references, limits }: Walk,
  path: string,
  { oid, bytes }: TreeFile,
  role: FileRole,
): References {
  const key = `${role} ${oid} ${path}`;
  const known = references.get(key);
  if (known) return known;
  const reading = referencesIn({ path, bytes }, role, limits);
  if (references.size >= mostKnown) references.clear();
  references.set(key, reading);
  return reading;
}

/** Paths are relative to the kustomization, also where a generator's own file names them. */
function follow(
  walk: Walk,
  { file, folder }: { file: string; folder: string },
  { references, problems }: References,
): Wanted[] {
  walk.problems.push(...problems);
  return references.flatMap((reference): Wanted[] => {
    const target = pathFrom(folder, reference.path);
    const want = { ...reference, file, target: target ?? '' };
    if (target === undefined) report(walk, want, `${reference.path} is outside the repository`);
    // A file may be named as a manifest and as a transformer: each is another reading.
    const key = `${reference.use} ${target}`;
    if (target === undefined || walk.seen.has(key)) return [];
    walk.seen.add(key);
    return [want];
  });
}

/** Takes a file in, unless there is none or the limits say no. */
function isKept(walk: Walk, want: Wanted, entry: TreeEntry | undefined): entry is TreeFile {
  if (entry?.kind !== 'file') {
    reportEntry(walk, want, entry);
    return false;
  }
  const { limits, files } = walk;
  if (!files.has(want.target)) walk.bytes += entry.bytes.length;
  files.set(want.target, entry);
  const excess =
    entry.bytes.length > limits.renderInputFileBytes
      ? `${want.path} has ${entry.bytes.length} bytes; at most ${limits.renderInputFileBytes} are read`
      : files.size > limits.renderInputFiles
        ? `more than ${limits.renderInputFiles} files are referenced`
        : walk.bytes > limits.renderInputBytes
          ? `the referenced files have more than ${limits.renderInputBytes} bytes together`
          : undefined;
  if (excess !== undefined) report(walk, want, excess);
  return excess === undefined;
}

function reportEntry(walk: Walk, want: Wanted, entry: TreeEntry | undefined): void {
  const { path } = want;
  if (entry?.kind === 'refused') report(walk, want, `${path}: ${entry.message}`);
  else if (entry?.kind === 'folder') report(walk, want, `${path} is a folder; name its files`);
  else report(walk, want, `${path} does not exist in the repository`);
}

function report(walk: Walk, { file, line, field }: Wanted, message: string): void {
  walk.problems.push({ file, line, ...(field ? { field } : {}), message });
}
