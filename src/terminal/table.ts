import { shorten } from '../api/text.ts';
import { paint, printable, type Screen, type Tone } from './output.ts';

/** One column of a table. */
export interface TableColumn<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly tone?: (row: Row) => Tone;
  /** May be cut, down to this many characters, when the table is wider than the screen. Absent: never cut. */
  readonly least?: number;
}

const gap = '  ';

/** Rows under their titles. Columns that may be cut are cut, the widest first, until the table fits; `wide` cuts nothing. */
export function formatTable<Row>(
  columns: ReadonlyArray<TableColumn<Row>>,
  rows: readonly Row[],
  screen: Screen,
  wide: boolean,
): string[] {
  const cells = rows.map((row) => columns.map((column) => printable(column.value(row))));
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((row) => row[index]?.length ?? 0)),
  );
  if (!wide) shrink(columns, widths, screen.columns);
  const titles = columns.map(({ title }, index) => pad(title, index, widths));
  return [
    paint(screen, 'quiet', titles.join(gap).trimEnd()),
    ...rows.map((row, line) => {
      const parts = columns.map(({ tone }, index) => {
        const text = pad(cells[line]?.[index] ?? '', index, widths);
        return paint(screen, tone?.(row) ?? 'none', text);
      });
      return parts.join(gap).trimEnd();
    }),
  ];
}

function shrink<Row>(columns: ReadonlyArray<TableColumn<Row>>, widths: number[], most: number): void {
  const total = () => widths.reduce((sum, width) => sum + width, 0) + gap.length * (widths.length - 1);
  while (total() > most) {
    let widest = -1;
    columns.forEach(({ least }, index) => {
      const width = widths[index] ?? 0;
      if (least !== undefined && width > least && width > (widths[widest] ?? 0)) widest = index;
    });
    if (widest < 0) return;
    widths[widest] = (widths[widest] ?? 1) - 1;
  }
}

function pad(text: string, index: number, widths: readonly number[]): string {
  const width = widths[index] ?? text.length;
  return shorten(text, width).padEnd(width);
}
