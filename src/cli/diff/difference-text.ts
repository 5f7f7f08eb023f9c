import type { Comparison } from '../../health/comparison.ts';
import { counted } from '../counted.ts';
import { paint, printable, type Screen, wrap } from '../output.ts';
import { commitLine } from '../status-rows.ts';
import { formatTable, type TableColumn } from '../table.ts';
import type { Difference, ObjectDifference } from './difference.ts';
import type { SourceObjectDifference } from './source-difference.ts';

interface FieldRow {
  readonly object: string;
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
  readonly by: string;
}

const findingColumns: ReadonlyArray<TableColumn<Comparison>> = [
  { title: 'FINDING', value: ({ name }) => name, tone: () => 'bad' },
  { title: 'EXPECTED', value: ({ expected }) => expected, least: 12 },
  { title: 'ACTUAL', value: ({ actual }) => actual, least: 12 },
];

const fieldColumns: ReadonlyArray<TableColumn<FieldRow>> = [
  { title: 'OBJECT', value: ({ object }) => object, tone: () => 'bad' },
  { title: 'FIELD', value: ({ field }) => field, least: 16 },
  { title: 'EXPECTED', value: ({ expected }) => expected, least: 12 },
  { title: 'ACTUAL', value: ({ actual }) => actual, least: 12 },
  { title: 'CHANGED BY', value: ({ by }) => by, least: 10 },
];

/** A difference for people; lines without line feeds. */
export function differenceLines(
  { canary, release, differs, findings, objects }: Difference,
  screen: Screen,
): string[] {
  const what = commitLine(release.commit, release.subject) || release.digest.slice(0, 15);
  const title = `Canary ${canary}: the primary must run ${what}`;
  const table = fieldTable(objects, screen);
  return [
    paint(screen, 'strong', printable(title)),
    ...(findings.length > 0 ? ['', ...formatTable(findingColumns, findings, screen, false)] : []),
    ...(table.length > 0 ? ['', ...table] : []),
    ...(differs ? [] : wrap(`nothing differs in ${counted(objects.length, 'object')}`, screen.columns, '')),
  ];
}

/** What of these objects differs, a line for each field; empty when nothing does. */
export function fieldTable(
  objects: ReadonlyArray<ObjectDifference | SourceObjectDifference>,
  screen: Screen,
): string[] {
  const rows = objects.flatMap(rowsOf);
  return rows.length > 0 ? formatTable(fieldColumns, rows, screen, false) : [];
}

function rowsOf(difference: ObjectDifference | SourceObjectDifference): FieldRow[] {
  const { kind, name, state, fields, changedBy } = difference;
  const namespace = 'namespace' in difference ? `${difference.namespace}/` : '';
  const object = `${kind} ${namespace}${name}`;
  if (state === 'refused') {
    const message = 'message' in difference ? (difference.message ?? '') : '';
    return [{ object, field: '', expected: 'applied', actual: message, by: '' }];
  }
  if (state === 'missing') return [{ object, field: '', expected: 'exists', actual: 'missing', by: '' }];
  return fields.map(({ path, expected, actual }) => ({
    object,
    field: path,
    expected,
    actual: actual ?? '(absent)',
    by: changedBy ?? '',
  }));
}
