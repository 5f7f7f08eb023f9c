/** What the part of the address after `#` says: everything that a link to a view needs. */
export type Route =
  | { readonly view: 'canaries' | 'sources'; readonly filter: Filter }
  | { readonly view: 'canary' | 'source'; readonly namespace: string; readonly name: string };

/** What the list is narrowed to; empty texts: to nothing. */
export interface Filter {
  readonly text: string;
  readonly namespace: string;
  readonly owner: string;
  readonly tone: string;
}

const fields = ['text', 'namespace', 'owner', 'tone'] as const;

/** The list of everything. */
export const noFilter: Filter = { text: '', namespace: '', owner: '', tone: '' };

/** Reads `#/canary/shop/web` or `#/canaries?tone=bad`; the list for what it cannot read. */
export function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [view, namespace = '', name = ''] = path.split('/').map(decoded);
  if ((view === 'canary' || view === 'source') && namespace && name) return { view, namespace, name };
  const said = new URLSearchParams(query);
  const values = Object.fromEntries(fields.map((field) => [field, said.get(field) ?? '']));
  return { view: view === 'sources' ? 'sources' : 'canaries', filter: { ...noFilter, ...values } };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

/** The address of a view. */
export function hashOf(route: Route): string {
  if ('name' in route)
    return `#/${route.view}/${encodeURIComponent(route.namespace)}/${encodeURIComponent(route.name)}`;
  const query = new URLSearchParams(
    fields.flatMap((field) => (route.filter[field] ? [[field, route.filter[field]]] : [])),
  ).toString();
  return query ? `#/${route.view}?${query}` : `#/${route.view}`;
}
