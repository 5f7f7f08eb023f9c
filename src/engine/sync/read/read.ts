import { type KubernetesObject, namespacedName, objectKey, partOfLabel } from '../../../api/kubernetes.ts';
import { limits } from '../../../api/limits.ts';
import type { CommitInfo } from '../../../api/observed.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import type { Repository } from '../../../contracts/git.ts';
import { selectPlans } from '../../../release/select.ts';
import { isKustomization } from '../../../render/build/collect.ts';
import { type RenderResult, settle } from '../../../render/render.ts';
import type { FileProblem, RenderedObject } from '../../../render/rendered-object.ts';
import { renderSource, type SourceRendering } from '../../../render/source.ts';
import type { Tree, TreeFile } from '../../../render/tree.ts';
import { releaseNamespace } from '../../../render/units.ts';
import { applySetId } from '../../apply-set.ts';
import {
  type CommitReader,
  folderOf,
  type ReadingParts,
  type ReadingState,
  type Snapshot,
} from '../context/context.ts';
import { unignored } from './ignore-rules.ts';
import { inputsOf, type RenderInputs } from './render-inputs.ts';

/** Which commit is read. */
interface Reading {
  readonly commit: CommitInfo;
  readonly signal: AbortSignal;
  /** What it is rendered with besides Git; absent: what the cluster holds. */
  readonly inputs?: RenderInputs;
}

/** Reads, renders and sorts one commit. Problems of files are in the snapshot; only Git's own errors are thrown. */
export async function readSnapshot(
  parts: ReadingParts,
  source: Source,
  state: ReadingState,
  reading: Reading,
): Promise<Snapshot> {
  const { repository } = state;
  const work = () => snapshotAt(parts, source, state, reading);
  return repository.rendering ? repository.rendering(reading.commit.commit, work) : work();
}

async function snapshotAt(
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
  const files = await unignored(read.files, { folder, rules: source.spec.ignore, signal });
  const { builders, builds } = parts;
  const { variables, decryption, capabilities } = inputs ?? (await inputsOf(parts.cluster, source));
  const written = await renderSource(
    source,
    { folder, files, problems: unread, tree },
    { builders, builds, cache: state.rendered, signal, variables, decryption, capabilities },
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
    liveCanaries: parts.canaries().filter((canary) => {
      // No other Source speaks for it.
      const owner = parts.heads.sourceOf(namespacedName(canary));
      return owner === undefined || owner === state.key;
    }),
    isHeld: (canary) =>
      canary.metadata.labels?.[partOfLabel] === applySetId(source) ||
      parts.heads.sourceOf(namespacedName(canary)) === state.key,
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
    unknownKinds: await unknownKindsOf(parts.cluster, all),
  };
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

const maxFileBytes = limits.renderInputFileBytes;

/** A commit as renderers look at it. Its methods throw Git's errors. */
function treeAt(repository: CommitReader, commit: string, signal: AbortSignal): Tree {
  return {
    read: (paths) => repository.entriesAt(commit, paths, { signal, maxFileBytes }),
    async readAll(folder) {
      const { files, problems } = await repository.readFiles(commit, folder, {
        signal,
        alsoRead: () => true,
        anyBytes: true,
        limits: { maxFiles: limits.renderInputFiles, maxFileBytes, maxTotalBytes: limits.renderInputBytes },
      });
      const found = files.map(({ path, oid, bytes }): [string, TreeFile] => [
        path,
        { kind: 'file', oid, bytes },
      ]);
      return { files: new Map(found), problems };
    },
  };
}

/** Whether a commit holds the same files outside the Source's path that a snapshot was rendered from. */
export async function isOutsideUnchanged(
  repository: Repository,
  commit: string,
  { outside }: Pick<Snapshot, 'outside'>,
  signal: AbortSignal,
): Promise<boolean> {
  if (outside.size === 0) return true;
  const entries = await repository.entriesAt(commit, [...outside.keys()], { signal, maxFileBytes });
  return [...outside].every(([path, oid]) => {
    const entry = entries.get(path);
    return entry?.kind === 'file' && entry.oid === oid;
  });
}

/**
 * Objects of kinds without namespaces, without the one that they name: the API server drops it, and what is in Git and in the cluster must be
 * known as the same object, or it would be taken for one that left Git.
 */
async function inTheirScope(
  cluster: Pick<Cluster, 'kindOf'>,
  entries: readonly RenderedObject[],
): Promise<readonly RenderedObject[]> {
  const named = entries.filter(({ object }) => object.metadata.namespace);
  const kinds = new Map(named.map(({ object }) => [kindOf(object), object]));
  const unscoped = new Set<string>();
  for (const [id, { apiVersion, kind }] of kinds)
    if ((await cluster.kindOf(apiVersion, kind))?.namespaced === false) unscoped.add(id);
  if (unscoped.size === 0) return entries;
  return entries.map((entry) => {
    if (!unscoped.has(kindOf(entry.object))) return entry;
    const { namespace: _, ...metadata } = entry.object.metadata;
    return { ...entry, object: { ...entry.object, metadata } };
  });
}

async function unknownKindsOf(
  cluster: Pick<Cluster, 'kindOf'>,
  objects: readonly KubernetesObject[],
): Promise<Snapshot['unknownKinds']> {
  const kinds = new Map(
    objects.map(({ apiVersion, kind }) => [kindOf({ apiVersion, kind }), { apiVersion, kind }]),
  );
  const found = await Promise.all(
    [...kinds.values()].map(async (one) => ((await cluster.kindOf(one.apiVersion, one.kind)) ? [] : [one])),
  );
  return found.flat();
}

/** Whether the cluster serves a kind now that it did not serve when the snapshot was read, so that its objects may have another namespace. */
export async function servesNewKinds(
  cluster: Pick<Cluster, 'kindOf'>,
  { unknownKinds }: Pick<Snapshot, 'unknownKinds'>,
): Promise<boolean> {
  for (const { apiVersion, kind } of unknownKinds) if (await cluster.kindOf(apiVersion, kind)) return true;
  return false;
}

/** Of one commit in one sync: its CustomResourceDefinitions, and those that a controller makes of what came with them. */
const mostReadings = 4;

/**
 * Does the work, and again, with news, while the commit brings kinds that were not served when it was read. A kind that comes and goes, as of
 * an API server of its own that is ill, would keep the Source at it until its deadline: the next poll looks again.
 */
export async function whileNewKinds(
  hasNews: boolean,
  work: (hasNews: boolean) => Promise<void>,
  hasNewKinds: () => Promise<boolean>,
): Promise<void> {
  await work(hasNews);
  for (let left = mostReadings - 1; left > 0 && (await hasNewKinds()); left -= 1) await work(true);
}

function kindOf({ apiVersion, kind }: { apiVersion: string; kind: string }): string {
  return `${apiVersion} ${kind}`;
}

/** Objects of namespaced kinds that name no namespace, as problems of their files; all objects of such a file wait. */
async function withoutNamespaceless(
  cluster: Pick<Cluster, 'kindOf'>,
  objects: readonly RenderedObject[],
): Promise<{ objects: RenderedObject[]; problems: FileProblem[] }> {
  const nameless = objects.filter(({ object }) => !object.metadata.namespace);
  const namespaced = await namespacedKinds(cluster, nameless);
  const problems = nameless
    .filter(({ object }) => namespaced.has(`${object.apiVersion} ${object.kind}`))
    .map(({ object, origin }): FileProblem => {
      const message = `${object.kind} ${object.metadata.name} names no namespace; add it, or set spec.defaultNamespace of the Source`;
      return { file: origin.file, line: origin.line, field: 'metadata.namespace', message };
    });
  const broken = new Set(problems.map(({ file }) => file));
  return { objects: objects.filter(({ origin }) => !broken.has(origin.file)), problems };
}

/** `apiVersion kind` of the kinds, among objects without a namespace, that live in namespaces. */
async function namespacedKinds(
  cluster: Pick<Cluster, 'kindOf'>,
  objects: readonly RenderedObject[],
): Promise<Set<string>> {
  const kinds = new Map(
    objects
      .filter(({ object }) => !object.metadata.namespace)
      .map(({ object }) => [`${object.apiVersion} ${object.kind}`, object] as const),
  );
  const found = await Promise.all(
    [...kinds].map(async ([id, { apiVersion, kind }]) => {
      const info = await cluster.kindOf(apiVersion, kind);
      return info?.namespaced ? [id] : [];
    }),
  );
  return new Set(found.flat());
}
