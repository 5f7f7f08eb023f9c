import type { Connection } from '../../app/connection.ts';
import { counted } from '../counted.ts';
import { type CommandResult, formatData, paint, printable, type Screen, wrap } from '../output.ts';
import { commitLine } from '../status-rows.ts';
import type { DiffOptions } from './diff.ts';
import { fieldTable } from './difference-text.ts';
import { readEffectiveSet, type SourceQuery } from './effective-set.ts';
import { type SourceDifference, sourceDifferenceOf } from './source-difference.ts';

/** Compares one Source with the cluster; exit code 1 when something differs. Throws ApiError, InputError and Git's errors. */
export async function diffSource(
  connection: Connection,
  query: SourceQuery,
  { format, screen }: DiffOptions,
): Promise<CommandResult> {
  const difference = await sourceDifferenceOf(connection.client, await readEffectiveSet(connection, query));
  const stdout =
    format === 'table' ? `${linesOf(difference, screen).join('\n')}\n` : formatData(difference, format);
  return { stdout, stderr: '', exitCode: difference.differs ? 1 : 0 };
}

function linesOf({ source, commit, differs, problems, objects }: SourceDifference, screen: Screen): string[] {
  const what = commitLine(commit.commit, commit.subject);
  const title = `Source ${source}: the cluster must be as ${what} says`;
  const table = fieldTable(objects, screen);
  return [
    paint(screen, 'strong', printable(title)),
    ...(problems.length > 0 ? ['', ...problems.map((line) => paint(screen, 'bad', printable(line)))] : []),
    ...(table.length > 0 ? ['', ...table] : []),
    ...(differs ? [] : wrap(`nothing differs in ${counted(objects.length, 'object')}`, screen.columns, '')),
  ];
}
