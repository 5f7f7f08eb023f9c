import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { CommitInfo } from '../../api/observed.ts';
import type { Source } from '../../api/source.ts';
import { selectPlans } from '../../release/select.ts';
import { isKustomization } from '../../render/kustomize/collect.ts';
import { objectKey, type RenderResult, settle } from '../../render/render.ts';
import { releaseNamespace } from '../../render/render-units.ts';
import { renderSource, type SourceRendering } from '../../render/source.ts';
import type { FileProblem, SourceFile } from '../../render/types.ts';
import type { CommitFiles } from '../ports/git-port.ts';
import type { Cluster } from '../ports/ports.ts';
import { ignoreRules } from './ignore-rules.ts';
import { inputsOf, type RenderInputs } from './render-inputs.ts';
import { inTheirScope, namespacedKinds, withoutNamespaceless } from './scopes.ts';
import { folderOf, type ReadingParts, type ReadingState, type Snapshot } from './source-parts.ts';
import { treeAt } from './source-tree.ts';

/** Which commit is read. */
export interface Reading {
  readonly commit: CommitInfo;
  readonly signal: AbortSignal;
  /** What it is rendered with beside Git; absent: what the cluster holds. */
  readonly inputs?: RenderInputs;
}

/** Reads, renders and sorts one commit. Problems of files are in the snapshot; only Git's own errors are thrown. */
export async function readSnapshot(
  parts: ReadingParts,
  source: Source,
  state: ReadingState,
  { commit, signal, inputs }: Reading,
): Promise<Snapshot> {
  const folder = folderOf(source);
  const treeOid = await state.repository.treeOidAt(commit.commit, folder, signal);
  const read = await state.repository.readFiles(commit.commit, folder, { signal, alsoRead: isKustomization });
  const unread = read.problems.map(({ path, message }): FileProblem => ({ file: path, line: 0, message }));
  const tree = treeAt(state.repository, commit.commit, signal);
  const files = selectFiles(read, source, folder);
  const { builders, builds } = parts;
  const { variables, decryption } = inputs ?? (await inputsOf(parts.cluster, source));
  const written = await renderSource(
    source,
    { folder, files, problems: unread, tree },
    { builders, builds, cache: state.rendered, signal, variables, decryption },
  );
  if (written.anew > 0) parts.onRendered?.(state.key, written.anew);
  const rendered = await inNamespaces(parts.cluster, source, written);
  const scoped = await inTheirScope(parts.cluster, rendered.objects);
  const placed = await withoutNamespaceless(parts.cluster, scoped);
  const problems = [...rendered.problems, ...placed.problems];
  const selection = selectPlans({
    objects: placed.objects,
    problems,
    tracksConfig: parts.tracksConfig !== false,
    liveCanaries: parts.canaries().filter((canary) => isFree(parts, state, canary)),
    previous: state.previous,
    lineOf: written.lineOf,
  });
  const all = placed.objects.map(({ object }) => object);
  return {
    commit,
    treeOid,
    all,
    entries: placed.objects,
    keys: new Set(all.map(objectKey)),
    rest: selection.rest,
    plans: selection.plans,
    problems: [...problems, ...selection.problems],
    objects: rendered.objects.length,
    lineOf: written.lineOf,
    outside: written.outside,
    isFleeting: written.isFleeting,
  };
}

/** A Canary that no other Source speaks for. */
function isFree(parts: ReadingParts, state: ReadingState, canary: KubernetesObject): boolean {
  const owner = parts.heads.sourceOf(`${canary.metadata.namespace}/${canary.metadata.name}`);
  return owner === undefined || owner === state.key;
}

function selectFiles({ files }: CommitFiles, source: Source, folder: string): SourceFile[] {
  const ignored = ignoreRules(source.spec.ignore ?? []);
  const inside = (path: string) => (folder ? path.slice(folder.length + 1) : path);
  return files.filter(({ path }) => !ignored(inside(path)));
}

/** With a default namespace, filled in once it is known which kinds live in namespaces. A chart always has one: that of its release. */
async function inNamespaces(
  cluster: Pick<Cluster, 'kindOf'>,
  source: Source,
  { read }: SourceRendering,
): Promise<Pick<RenderResult, 'objects' | 'problems'>> {
  const first = settle(read, {});
  const defaultNamespace = read.some(({ isChart }) => isChart)
    ? releaseNamespace(source)
    : source.spec.defaultNamespace;
  if (!defaultNamespace) return first;
  const namespaced = await namespacedKinds(cluster, first.objects);
  const isNamespaced = (apiVersion: string, kind: string) => namespaced.has(`${apiVersion} ${kind}`);
  return settle(read, { defaultNamespace, isNamespaced });
}
