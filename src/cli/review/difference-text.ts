/** Differences of Canaries and Sources from the cluster, for people; lines without line feeds. */
import type { Comparison } from '../../health/comparison.ts';
import type { CanaryDifference } from '../../review/diff/canary-difference.ts';
import type { SourceDifference, SourceObjectDifference } from '../../review/diff/source-difference.ts';
import {
  counted,
  formatTable,
  paint,
  printable,
  type Screen,
  type TableColumn,
  wrap,
} from '../../terminal/output.ts';
import { commitLine } from '../status/rows.ts';

/** What of a Source differs, and what cannot be compared. */
export function sourceDifferenceLines(
  { source, commit, differs, problems, objects }: SourceDifference,
  screen: Screen,
): string[] {
  const what = commitLine(commit.commit, commit.subject);
  const title = `Source ${source}: expected ${what}`;
  const table = fieldTable(objects, screen);
  return [
    paint(screen, 'strong', printable(title)),
    ...(problems.length > 0 ? ['', ...problems.map((line) => paint(screen, 'bad', printable(line)))] : []),
    ...(table.length > 0 ? ['', ...table] : []),
    ...(differs ? [] : wrap(`no differences in ${counted(objects.length, 'object')}`, screen.columns, '')),
  ];
}

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

/** What of a Canary differs: findings about the primary, then fields of objects. */
export function canaryDifferenceLines(
  { canary, release, differs, findings, objects }: CanaryDifference,
  screen: Screen,
): string[] {
  const what = commitLine(release.commit, release.subject) || release.digest.slice(0, 15);
  const title = `Canary ${canary}: expected ${what} on the primary`;
  const table = fieldTable(objects, screen);
  return [
    paint(screen, 'strong', printable(title)),
    ...(findings.length > 0 ? ['', ...formatTable(findingColumns, findings, screen, false)] : []),
    ...(table.length > 0 ? ['', ...table] : []),
    ...(differs ? [] : wrap(`no differences in ${counted(objects.length, 'object')}`, screen.columns, '')),
  ];
}

/** What of these objects differs, a line for each field; empty when nothing does. */
function fieldTable(
  objects: ReadonlyArray<CanaryDifference['objects'][number] | SourceObjectDifference>,
  screen: Screen,
): string[] {
  const rows = objects.flatMap(rowsOf);
  return rows.length > 0 ? formatTable(fieldColumns, rows, screen, false) : [];
}

function rowsOf(difference: CanaryDifference['objects'][number] | SourceObjectDifference): FieldRow[] {
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
