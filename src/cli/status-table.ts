import { paint, type Screen, wrap } from './output.ts';
import { byUrgency, type CanaryRow, type SourceRow } from './status-rows.ts';
import { formatTable, type TableColumn } from './table.ts';

/** How much a table shows. */
export interface TableOptions {
  readonly screen: Screen;
  /** Nothing is cut, everything in one line. */
  readonly wide: boolean;
  readonly withNamespace: boolean;
}

const phase: TableColumn<CanaryRow> = { title: 'PHASE', value: (row) => row.phase, tone: (row) => row.tone };

const canaryColumns: ReadonlyArray<TableColumn<CanaryRow>> = [
  { title: 'CANARY', value: (row) => row.name, least: 12 },
  phase,
  { title: 'WEIGHT', value: (row) => row.weight },
  { title: 'SERVING', value: (row) => row.serving, least: 12 },
  { title: 'HEAD', value: (row) => row.head },
  { title: 'REASON', value: (row) => row.reason, least: 10 },
];

const wideColumns: ReadonlyArray<TableColumn<CanaryRow>> = [
  { title: 'NEXT', value: (row) => row.next || '-' },
  { title: 'MESSAGE', value: (row) => row.message || '-' },
];

const sourceColumns: ReadonlyArray<TableColumn<SourceRow>> = [
  { title: 'SOURCE', value: (row) => row.name, least: 12 },
  { title: 'READY', value: (row) => row.ready, tone: (row) => row.tone },
  { title: 'REASON', value: (row) => row.reason, least: 10 },
  { title: 'CANARIES', value: (row) => row.canaries },
  { title: 'APPLIED', value: (row) => row.commit },
  { title: 'HEAD', value: (row) => row.subject, least: 12 },
];

/** What needs a person is on top; below each line that is not calm: what goes on and what comes next. */
export function canaryTable(rows: readonly CanaryRow[], options: TableOptions): string[] {
  const sorted = [...rows].sort(byUrgency);
  const columns = options.wide ? [...canaryColumns, ...wideColumns] : canaryColumns;
  return withRemarks(sorted, columns, options, (row) => [
    row.message,
    ...(row.next ? [`Next: ${row.next}`] : []),
  ]);
}

/** The Sources, those that are not ready with their message. */
export function sourceTable(rows: readonly SourceRow[], options: TableOptions): string[] {
  const columns = options.wide
    ? [...sourceColumns, { title: 'MESSAGE', value: (row: SourceRow) => row.message || '-' }]
    : sourceColumns;
  return withRemarks(rows, columns, options, (row) => [row.message]);
}

function withRemarks<Row extends { readonly namespace: string; readonly tone: string }>(
  rows: readonly Row[],
  columns: ReadonlyArray<TableColumn<Row>>,
  { screen, wide, withNamespace }: TableOptions,
  remarks: (row: Row) => readonly string[],
): string[] {
  const namespace: TableColumn<Row> = { title: 'NAMESPACE', value: (row) => row.namespace, least: 9 };
  const all = withNamespace ? [namespace, ...columns] : columns;
  const [titles = '', ...lines] = formatTable(all, rows, screen, wide);
  if (wide) return [titles, ...lines];
  return [
    titles,
    ...lines.flatMap((line, index) => {
      const row = rows[index];
      if (!row || row.tone === 'good') return [line];
      const below = remarks(row).flatMap((remark) => wrap(remark, screen.columns, '  '));
      return [line, ...below.map((text) => paint(screen, 'quiet', text))];
    }),
  ];
}
