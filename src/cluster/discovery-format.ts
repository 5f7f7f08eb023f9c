/** The two shapes in which a server lists its kinds, read without trust in either. */

/** What the server serves under one apiVersion and kind. */
export interface ResourceInfo {
  readonly apiVersion: string;
  readonly kind: string;
  /** Name in paths, for instance `deployments`. */
  readonly plural: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** For instance `status`, `scale`. */
  readonly subresources: readonly string[];
}

interface AggregatedResource {
  readonly resource?: string;
  readonly responseKind?: { readonly kind?: string };
  readonly scope?: string;
  readonly verbs?: readonly string[];
  readonly subresources?: ReadonlyArray<{ readonly subresource?: string }>;
}

interface AggregatedGroup {
  readonly metadata?: { readonly name?: string };
  readonly versions?: ReadonlyArray<{
    readonly version?: string;
    readonly resources?: readonly AggregatedResource[];
  }>;
}

interface ListedResource {
  readonly name?: string;
  readonly kind?: string;
  readonly namespaced?: boolean;
  readonly verbs?: readonly string[];
}

/** Reads an APIGroupDiscoveryList (apidiscovery.k8s.io); undefined when the server answered in the older form. */
export function readAggregated(body: unknown): ResourceInfo[] | undefined {
  const list = body as { kind?: unknown; items?: unknown } | null;
  if (list?.kind !== 'APIGroupDiscoveryList') return undefined;
  return arrayOf<AggregatedGroup>(list.items).flatMap((group) =>
    arrayOf<NonNullable<AggregatedGroup['versions']>[number]>(group.versions).flatMap((version) => {
      const name = group.metadata?.name ?? '';
      const apiVersion = name === '' ? (version.version ?? '') : `${name}/${version.version ?? ''}`;
      return arrayOf<AggregatedResource>(version.resources).flatMap((entry) =>
        aggregatedResource(apiVersion, entry),
      );
    }),
  );
}

function aggregatedResource(apiVersion: string, entry: AggregatedResource): ResourceInfo[] {
  const kind = entry.responseKind?.kind;
  if (!entry.resource || !kind) return [];
  return [
    {
      apiVersion,
      kind,
      plural: entry.resource,
      namespaced: entry.scope === 'Namespaced',
      verbs: arrayOf<string>(entry.verbs),
      subresources: arrayOf<{ subresource?: string }>(entry.subresources).flatMap(
        (sub) => sub.subresource ?? [],
      ),
    },
  ];
}

/** Reads an APIResourceList of one apiVersion. */
export function readResourceList(apiVersion: string, body: unknown): ResourceInfo[] {
  const entries = arrayOf<ListedResource>((body as { resources?: unknown } | null)?.resources);
  // Subresources stand in the same list as `deployments/status`, before or after their resource.
  const main = entries.filter((entry) => entry.name && entry.kind && !entry.name.includes('/'));
  return main.map((entry) => ({
    apiVersion,
    kind: entry.kind ?? '',
    plural: entry.name ?? '',
    namespaced: entry.namespaced === true,
    verbs: arrayOf<string>(entry.verbs),
    subresources: entries.flatMap(({ name }) =>
      name?.startsWith(`${entry.name}/`) ? name.split('/').slice(1) : [],
    ),
  }));
}

function arrayOf<T>(value: unknown): readonly T[] {
  return Array.isArray(value) ? value.filter((entry) => entry !== null && entry !== undefined) : [];
}
