/** Which Sources a plan is about, and what each is at base and at head. */

import { apiVersionOf } from '../../api/kinds/kinds.ts';
import { parseSource } from '../../api/kinds/parse.ts';
import { type KubernetesObject, namespacedName } from '../../api/kubernetes.ts';
import { InputError, type Problem } from '../../api/problems.ts';
import type { Source } from '../../api/source/source.ts';
import type { CommitReader } from '../../engine/sync/read/commit-files.ts';
import { GitError } from '../../git/errors.ts';
import { renderPlain } from '../../render/render.ts';
import { formatProblem } from '../../render/rendered-object.ts';
import { sourceFindings } from '../../server/source-files.ts';

/** One Source as the two sides have it; one side may lack it. */
export interface SourcePair {
  /** `namespace/name`; the path where no Source was found. */
  readonly key: string;
  readonly before: Source | undefined;
  readonly after: Source | undefined;
  /** Why head's cannot be used, `path:line: field: message`; `after` is then that of base, which stays in force. */
  readonly problem?: string | undefined;
}

/** What a tree says about Sources. */
interface SourcesFound {
  readonly sources: readonly Source[];
  /** Their files, by name. */
  readonly files: ReadonlyMap<string, string>;
  /** `path:line: field: message` of those that cannot be used, by name. */
  readonly invalid: ReadonlyMap<string, string>;
  /** `path:line: message` of files that cannot be read, whatever they hold, by path. */
  readonly broken: ReadonlyMap<string, string>;
}

/** What must be in a file for it to hold a Source: parsing all others of a large repository would take long. */
const mark = Buffer.from('holdfast.dev/');

/** Sources in any file of a tree. Throws InputError for a tree with more files than are looked through, and Git's errors. */
export async function sourcesIn(
  reader: CommitReader,
  commit: string,
  signal: AbortSignal,
): Promise<SourcesFound> {
  const { files } = await reader.readFiles(commit, '', { signal }).catch((error: unknown) => {
    if (!(error instanceof GitError) || error.code !== 'TooLarge') throw error;
    throw new InputError(
      'the repository has too many manifests to search for Sources: name them with --source',
    );
  });
  const some = files.filter(({ bytes }) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(mark),
  );
  const sources: Source[] = [];
  const [paths, invalid, broken] = [0, 1, 2].map(() => new Map<string, string>()) as [Texts, Texts, Texts];
  for (const file of some) {
    const { objects, problems, lineOf } = renderPlain([file]);
    const [unread] = problems;
    if (unread) broken.set(file.path, formatProblem(unread));
    for (const { object, origin } of objects) {
      if (object.kind !== 'Source' || object.apiVersion !== apiVersionOf('Source')) continue;
      const key = namespacedName(object);
      const read = sourceOf(object);
      paths.set(key, file.path);
      if ('spec' in read) sources.push(read);
      else {
        const { path: field, message } = read;
        invalid.set(key, formatProblem({ file: file.path, line: lineOf(origin, field), field, message }));
      }
    }
  }
  return { sources, files: paths, invalid, broken };
}

type Texts = Map<string, string>;

/** The Source, or the first of what is wrong with it. */
function sourceOf(object: KubernetesObject): Source | Problem {
  const parsed = parseSource(object);
  if (!parsed.ok) return parsed.problems[0] ?? { path: '', message: 'cannot be read' };
  return sourceFindings(parsed.value).problems[0] ?? parsed.value;
}

/** Sources of base that head breaks, with why: they are not removed, and the cluster keeps them as they are. Pure. */
export function brokenSources(
  before: SourcesFound,
  after: SourcesFound,
): ReadonlyArray<{ readonly source: Source; readonly problem: string }> {
  const there = new Set(after.sources.map(namespacedName));
  return before.sources.flatMap((source) => {
    const key = namespacedName(source);
    const problem = after.invalid.get(key) ?? after.broken.get(before.files.get(key) ?? '');
    return problem === undefined || there.has(key) ? [] : [{ source, problem }];
  });
}

/** Which of the Sources are meant. */
interface SourceChoice {
  /** Addresses of the repository's remotes. */
  readonly remotes: readonly string[];
  /** Only Sources that follow this branch. */
  readonly branch: string | undefined;
}

/**
 * Sources of this repository, by the addresses of its remotes; where no Source names a remote (another protocol's address, a mirror), all count.
 * Pure.
 */
export function chooseSources(
  sources: readonly Source[],
  { remotes, branch }: SourceChoice,
): readonly Source[] {
  const places = new Set(remotes.map(hostAndPath));
  const own = sources.filter(({ spec }) => places.has(hostAndPath(spec.url)));
  const some = own.length > 0 ? own : sources;
  return branch === undefined ? some : some.filter(({ spec }) => spec.ref.branch === branch);
}

/** Host and path: `https://x/a/b.git` and `git@x:a/b` are one place. */
function hostAndPath(address: string): string {
  const scp = /^(?:[^@/:]+@)?([^/:]+):(?!\/\/)(.+)$/.exec(address);
  const url = !scp && URL.canParse(address) ? new URL(address) : undefined;
  const place = scp ? `${scp[1]}/${scp[2]}` : url ? `${url.host}/${url.pathname}` : `/${address}`;
  return place
    .toLowerCase()
    .replace(/\/+/g, '/')
    .replace(/(\.git)?\/?$/, '');
}

/** Sources of both sides by name, head's order first. Pure. */
export function pairSources(before: readonly Source[], after: readonly Source[]): SourcePair[] {
  const [old, now] = [before, after].map(
    (list) => new Map(list.map((source) => [namespacedName(source), source])),
  );
  const keys = new Set([...(now?.keys() ?? []), ...(old?.keys() ?? [])]);
  return [...keys].map((key) => ({ key, before: old?.get(key), after: now?.get(key) }));
}
