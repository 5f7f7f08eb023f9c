import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { parseSource } from '../api/kinds/parse.ts';
import { type KubernetesObject, namespacedName } from '../api/kubernetes.ts';
import { limits } from '../api/limits.ts';
import { type Findings, InputError } from '../api/problems.ts';
import type { Source } from '../api/source/source.ts';
import { checkSource } from '../api/source/validate.ts';
import type { Cluster } from '../contracts/cluster.ts';
import { windowProblems } from '../engine/windows.ts';
import { followProblems } from '../git/poll/source-problems.ts';
import { renderPlain } from '../render/render.ts';
import { type FileProblem, formatProblem, type RenderedObject } from '../render/rendered-object.ts';

/** Label of Sources that came from `--source FILE`, so that a laptop and a cluster look alike (design section 2.1). */
const fromFileLabel = 'holdfast.dev/from-file';

/**
 * The Sources in files, checked like those of the cluster. Throws InputError with every problem as `file:line: field: message`.
 */
export async function readSourceFiles(paths: readonly string[]): Promise<Source[]> {
  const files = await Promise.all(paths.map(async (path) => ({ path, bytes: await read(path) })));
  const rendered = renderPlain(files);
  const problems: FileProblem[] = [...rendered.problems];
  const sources: Source[] = [];
  for (const entry of rendered.objects) {
    const parsed = sourceOf(entry, rendered.lineOf);
    if (Array.isArray(parsed)) problems.push(...parsed);
    else sources.push(parsed);
  }
  if (problems.length > 0) throw new InputError(problems.map(formatProblem).join('\n'));
  if (paths.length > 0 && sources.length === 0)
    throw new InputError(`${paths.join(', ')}: contains no Source`);
  return sources;
}

/** The Sources of `--source` files, as they were read at the start. Later changes in the cluster have no effect here. */
export interface FileSources {
  /** True for a Source of that name. */
  has(source: KubernetesObject): boolean;
  /** True when the Source still names the repository and the proxy that its file named: it may be given credentials of the environment. */
  trusts(source: Source): boolean;
  /** True when it still says exactly what its file said: it may be written with the rights of who started Holdfast with that file. */
  isUnchanged(source: Source): boolean;
}

/** Remembers the Sources of files; each must have a namespace. */
export function rememberFileSources(sources: readonly Source[]): FileSources {
  const specs = new Map(sources.map((source) => [namespacedName(source), source.spec]));
  return {
    has: (source) => specs.has(namespacedName(source)),
    trusts({ metadata, spec }) {
      const said = specs.get(namespacedName({ metadata }));
      return said?.url === spec.url && said.proxySecretRef?.name === spec.proxySecretRef?.name;
    },
    isUnchanged: (source) => isDeepStrictEqual(specs.get(namespacedName(source)), source.spec),
  };
}

/** The Source with a namespace: its own, or else this one. */
export function inNamespace(source: Source, namespace: string): Source {
  return { ...source, metadata: { ...source.metadata, namespace: source.metadata.namespace ?? namespace } };
}

/** Writes the Sources of files to the cluster, for their status and so that people see them there. */
export async function writeSources(
  cluster: Pick<Cluster, 'apply'>,
  sources: readonly Source[],
): Promise<void> {
  for (const source of sources) {
    const { status: _, ...object } = source;
    await cluster.apply(object, { manager: 'holdfast', force: true });
  }
}

async function read(path: string): Promise<Uint8Array> {
  try {
    const bytes = await readFile(path);
    if (bytes.length <= limits.fileBytes) return bytes;
  } catch (error) {
    throw new InputError(
      `${path}: ${(error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : 'cannot be read'}`,
    );
  }
  throw new InputError(`${path}: is larger than ${limits.fileBytes} bytes`);
}

function sourceOf(
  { object, origin }: RenderedObject,
  lineOf: ReturnType<typeof renderPlain>['lineOf'],
): Source | FileProblem[] {
  const at = ({ path, message }: { path: string; message: string }): FileProblem => ({
    file: origin.file,
    line: lineOf(origin, path),
    ...(path ? { field: path } : {}),
    message,
  });
  if (object.kind !== 'Source')
    return [
      at({
        path: 'kind',
        message: `must be Source, is ${object.kind}; other objects belong in the repository`,
      }),
    ];
  const parsed = parseSource(object, { strict: true });
  if (!parsed.ok) return parsed.problems.map(at);
  const source = parsed.value;
  const { problems } = sourceFindings(source);
  if (problems.length > 0) return problems.map(at);
  const labels = { ...source.metadata.labels, [fromFileLabel]: 'true' };
  return { ...source, metadata: { ...source.metadata, labels } };
}

/** What is wrong with a Source that could be parsed, and what is doubtful: by its fields, and by what keeps it from being followed. */
export function sourceFindings(source: Source, options: Parameters<typeof checkSource>[1] = {}): Findings {
  const { problems, warnings } = checkSource(source, options);
  const nowMs = Date.now();
  const hindrances = [...followProblems(source, nowMs), ...windowProblems(source.spec.windows, nowMs)];
  return { problems: [...problems, ...hindrances], warnings };
}
