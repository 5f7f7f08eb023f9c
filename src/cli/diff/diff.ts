import type { Connection } from '../../app/connection.ts';
import { expectedObjects } from '../../engine/observe/expected-objects.ts';
import { expectedRelease } from '../expected-release.ts';
import { type CommandResult, type DataFormat, formatData, type Screen } from '../output.ts';
import { readCanaryWith, type WorldQuery } from '../read-world.ts';
import { type Difference, differenceOf } from './difference.ts';
import { differenceLines } from './difference-text.ts';

/** How a difference is printed. */
export interface DiffOptions {
  readonly format: 'table' | DataFormat;
  readonly screen: Screen;
}

/** Compares one Canary; exit code 1 when something differs. Throws ApiError, InputError and EngineError. */
export async function diffCanary(
  connection: Connection,
  query: WorldQuery,
  { format, screen }: DiffOptions,
): Promise<CommandResult> {
  const difference = await readDifference(connection, query);
  const stdout =
    format === 'table'
      ? `${differenceLines(difference, screen).join('\n')}\n`
      : formatData(difference, format);
  return { stdout, stderr: '', exitCode: difference.differs ? 1 : 0 };
}

function readDifference(connection: Connection, query: WorldQuery): Promise<Difference> {
  return readCanaryWith(connection, query, async (context) => {
    const { world } = context.observation;
    const release = expectedRelease(world);
    if (!release)
      throw new Error(
        `Canary ${query.namespace}/${query.name}: no release has proven itself yet, so there is nothing to compare with`,
      );
    return differenceOf(world, release, await expectedObjects(context, release.digest));
  });
}
