/** What the kinds that the cluster serves say about the objects of a commit: which namespace each is in. */
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { settle } from '../../../render/render.ts';
import type { FileProblem, RenderedObject, RenderResult } from '../../../render/rendered-object.ts';
import type { Snapshot } from '../context/state.ts';

type Rendered = Pick<RenderResult, 'objects' | 'problems'>;

/** Rendered objects, each in its namespace. */
interface PlacedObjects extends Pick<Snapshot, 'objects' | 'unknownKinds' | 'scopes'> {
  readonly placed: readonly RenderedObject[];
  readonly problems: readonly FileProblem[];
}

/**
 * Puts each object in the namespace that it has in the cluster, or in none. `defaultNamespace`: of objects that name none and live in one. Throws what
 * the API server says.
 */
export async function placeObjects(
  cluster: Pick<Cluster, 'kindOf'>,
  read: ReadonlyArray<Rendered>,
  defaultNamespace: string | undefined,
): Promise<PlacedObjects> {
  const rendered = await inNamespaces(cluster, read, defaultNamespace);
  const scoped = await inTheirScope(cluster, rendered.objects);
  const { objects: placed, problems } = await withoutNamespaceless(cluster, scoped.objects);
  return {
    placed,
    problems: [...rendered.problems, ...scoped.problems, ...problems],
    objects: rendered.objects.length,
    ...(await kindsAsServed(
      cluster,
      scoped.objects.map(({ object }) => object),
    )),
  };
}

/** With the default namespace, filled in once it is known which kinds live in namespaces. */
async function inNamespaces(
  cluster: Pick<Cluster, 'kindOf'>,
  read: ReadonlyArray<Rendered>,
  defaultNamespace: string | undefined,
): Promise<Rendered> {
  const first = settle(read, {});
  if (!defaultNamespace) return first;
  const namespaced = await namespacedKinds(cluster, first.objects);
  const isNamespaced = (apiVersion: string, kind: string) => namespaced.has(`${apiVersion} ${kind}`);
  return settle(read, { defaultNamespace, isNamespaced });
}

/**
 * Objects of kinds without namespaces, without the one that they name: the API server drops it, and what is in Git and in the cluster must be
 * known as the same object, or it would be taken for one that left Git. Two that only the namespace told apart are one object.
 */
async function inTheirScope(
  cluster: Pick<Cluster, 'kindOf'>,
  entries: RenderResult['objects'],
): Promise<Rendered> {
  const named = entries.filter(({ object }) => object.metadata.namespace);
  const kinds = new Map(named.map(({ object }) => [kindOf(object), object]));
  const unscoped = new Set<string>();
  for (const [id, { apiVersion, kind }] of kinds)
    if ((await cluster.kindOf(apiVersion, kind))?.namespaced === false) unscoped.add(id);
  if (unscoped.size === 0) return { objects: entries, problems: [] };
  const objects = entries.map((entry) => {
    if (!unscoped.has(kindOf(entry.object))) return entry;
    const { namespace: _, ...metadata } = entry.object.metadata;
    return { ...entry, object: { ...entry.object, metadata } };
  });
  return settle([{ objects, problems: [] }], {});
}

async function kindsAsServed(
  cluster: Pick<Cluster, 'kindOf'>,
  objects: readonly KubernetesObject[],
): Promise<Pick<Snapshot, 'unknownKinds' | 'scopes'>> {
  const kinds = new Map(
    objects.map(({ apiVersion, kind }) => [kindOf({ apiVersion, kind }), { apiVersion, kind }]),
  );
  const found = await Promise.all(
    [...kinds.values()].map(async (one) => ({ one, served: await cluster.kindOf(one.apiVersion, one.kind) })),
  );
  return {
    unknownKinds: found.flatMap(({ one, served }) => (served ? [] : [one])),
    scopes: found.flatMap(({ one, served }) => (served ? [{ ...one, namespaced: served.namespaced }] : [])),
  };
}

/**
 * Whether the cluster serves a kind now that it did not serve when the snapshot was read, or served in another scope, as where its
 * CustomResourceDefinition was made again: its objects may have another namespace.
 */
export async function servesNewKinds(
  cluster: Pick<Cluster, 'kindOf'>,
  { unknownKinds, scopes }: Pick<Snapshot, 'unknownKinds' | 'scopes'>,
): Promise<boolean> {
  for (const { apiVersion, kind } of unknownKinds) if (await cluster.kindOf(apiVersion, kind)) return true;
  for (const { apiVersion, kind, namespaced } of scopes) {
    const served = await cluster.kindOf(apiVersion, kind);
    if (served && served.namespaced !== namespaced) return true;
  }
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
