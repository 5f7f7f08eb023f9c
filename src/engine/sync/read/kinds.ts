/** What the kinds that the cluster serves say about the objects of a commit: which namespace each is in. */
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { settle } from '../../../render/render.ts';
import type { FileProblem, RenderedObject, RenderResult } from '../../../render/rendered-object.ts';
import type { Snapshot } from '../context/context.ts';

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
  const first = settle(read, {});
  const kinds = await kindsOf(cluster, first.objects);
  const scopeOf = (object: Kind) => kinds.get(kindId(object))?.namespaced;
  // Filled in once it is known which kinds live in namespaces.
  const isNamespaced = (apiVersion: string, kind: string) => scopeOf({ apiVersion, kind }) === true;
  const rendered = defaultNamespace ? settle(read, { defaultNamespace, isNamespaced }) : first;
  const scoped = inTheirScope(rendered.objects, scopeOf);
  const { objects: placed, problems } = withoutNamespaceless(scoped.objects, scopeOf);
  const used = new Set(scoped.objects.map(({ object }) => kindId(object)));
  const found = [...kinds].flatMap(([id, kind]) => (used.has(id) ? [kind] : []));
  return {
    placed,
    problems: [...rendered.problems, ...scoped.problems, ...problems],
    objects: rendered.objects.length,
    unknownKinds: found.flatMap(({ apiVersion, kind, namespaced }) =>
      namespaced === undefined ? [{ apiVersion, kind }] : [],
    ),
    scopes: found.flatMap(({ namespaced, ...kind }) =>
      namespaced === undefined ? [] : [{ ...kind, namespaced }],
    ),
  };
}

/** The kinds of these objects by their ids, as the cluster serves them; `namespaced` is undefined of one that it does not serve. */
async function kindsOf(
  cluster: Pick<Cluster, 'kindOf'>,
  entries: readonly RenderedObject[],
): Promise<Map<string, Kind & { readonly namespaced: boolean | undefined }>> {
  const kinds = new Map(entries.map(({ object }) => [kindId(object), object]));
  const found = [...kinds].map(async ([id, { apiVersion, kind }]) => {
    const served = await cluster.kindOf(apiVersion, kind);
    return [id, { apiVersion, kind, namespaced: served?.namespaced }] as const;
  });
  return new Map(await Promise.all(found));
}

type Kind = Pick<KubernetesObject, 'apiVersion' | 'kind'>;

type ScopeOf = (object: Kind) => boolean | undefined;

function kindId({ apiVersion, kind }: Kind): string {
  return `${apiVersion} ${kind}`;
}

/**
 * Objects of kinds without namespaces, without the one that they name: the API server drops it, and what is in Git and in the cluster must be
 * known as the same object, or it would be taken for one that left Git. Two that only the namespace told apart are one object.
 */
function inTheirScope(entries: RenderResult['objects'], scopeOf: ScopeOf): Rendered {
  const isMisplaced = ({ object }: RenderedObject) => object.metadata.namespace && scopeOf(object) === false;
  if (!entries.some(isMisplaced)) return { objects: entries, problems: [] };
  const objects = entries.map((entry) => {
    if (!isMisplaced(entry)) return entry;
    const { namespace: _, ...metadata } = entry.object.metadata;
    return { ...entry, object: { ...entry.object, metadata } };
  });
  return settle([{ objects, problems: [] }], {});
}

/** Objects of namespaced kinds that name no namespace, as problems of their files; all objects of such a file wait. */
function withoutNamespaceless(
  objects: readonly RenderedObject[],
  scopeOf: ScopeOf,
): { objects: RenderedObject[]; problems: FileProblem[] } {
  const problems = objects
    .filter(({ object }) => !object.metadata.namespace && scopeOf(object) === true)
    .map(({ object, origin }): FileProblem => {
      const message = `${object.kind} ${object.metadata.name} names no namespace; add it, or set spec.defaultNamespace of the Source`;
      return { file: origin.file, line: origin.line, field: 'metadata.namespace', message };
    });
  const broken = new Set(problems.map(({ file }) => file));
  return { objects: objects.filter(({ origin }) => !broken.has(origin.file)), problems };
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
