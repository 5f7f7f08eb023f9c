import type { Filter } from './routing.ts';
import type { CanaryRow, Fleet, FleetChange, SourceRow } from './views.ts';

/** The list in the page, by `Kind namespace/name`. */
export interface FleetLists {
  readonly canaries: ReadonlyMap<string, CanaryRow>;
  readonly sources: ReadonlyMap<string, SourceRow>;
}

const tones: readonly string[] = ['bad', 'busy', 'none', 'good'];

/** The list from its first event. */
export function listsOf({ canaries, sources }: Fleet): FleetLists {
  return {
    canaries: new Map(canaries.map((row) => [rowKey('Canary', row), row])),
    sources: new Map(sources.map((row) => [rowKey('Source', row), row])),
  };
}

/** The list after a change. */
export function changed(lists: FleetLists, { gone, ...fresh }: FleetChange): FleetLists {
  const added = listsOf(fresh);
  const left = new Set(gone);
  const merge = <Row>(before: ReadonlyMap<string, Row>, after: ReadonlyMap<string, Row>) =>
    new Map([...before, ...after].filter(([key]) => !left.has(key)));
  return { canaries: merge(lists.canaries, added.canaries), sources: merge(lists.sources, added.sources) };
}

function rowKey(kind: string, { namespace, name }: { namespace: string; name: string }): string {
  return `${kind} ${namespace}/${name}`;
}

/** Filters by namespace, owner and text (a name, a commit, a subject, a reason); the caller filters by tone, since it counts by it. */
export function narrowed(rows: Iterable<CanaryRow>, { text, namespace, owner }: Filter): CanaryRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return [...rows].filter(
    (row) =>
      (namespace === '' || row.namespace === namespace) &&
      (owner === '' || row.owner === owner) &&
      words.every((word) => textOf(row).includes(word)),
  );
}

function textOf(row: CanaryRow): string {
  const { namespace, name, phase, serving, servingCommit, headCommit, reason, owner } = row;
  return `${namespace}/${name} ${phase} ${serving} ${servingCommit} ${headCommit} ${reason} ${owner}`.toLowerCase();
}

/** What needs a person comes first, then by namespace and name. */
export function sorted<
  Row extends { readonly tone: string; readonly namespace: string; readonly name: string },
>(rows: Iterable<Row>): Row[] {
  const place = ({ tone }: Row) => tones.indexOf(tone);
  const text = ({ namespace, name }: Row) => `${namespace}/${name}`;
  return [...rows].sort((a, b) => place(a) - place(b) || (text(a) < text(b) ? -1 : 1));
}
