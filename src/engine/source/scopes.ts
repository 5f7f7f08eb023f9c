/** Whether objects name a namespace as their kinds want it. */
import type { FileProblem, RenderedObject } from '../../render/types.ts';
import type { Cluster } from '../ports/ports.ts';

/**
 * Objects of kinds without namespaces, without the one that they name: the API server drops it, and what is in Git and in the cluster must be
 * known as the same object, or it would be taken for one that left Git.
 */
export async function inTheirScope(
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

function kindOf({ apiVersion, kind }: { apiVersion: string; kind: string }): string {
  return `${apiVersion} ${kind}`;
}

/** Objects of namespaced kinds that name no namespace, as problems of their files; all objects of such a file wait. */
export async function withoutNamespaceless(
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
export async function namespacedKinds(
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
