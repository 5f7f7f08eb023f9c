/** Reads what `holdfast diff` compares, and compares it. Writes nothing. */
import type { Source } from '../../api/source/source.ts';
import type { ListSources } from '../../engine/sync/apply/apply-object.ts';
import type { Connection } from '../../server/connection.ts';
import type { ReleaseChanges } from '../../terminal/output.ts';
import { expectedObjects } from '../expected-objects.ts';
import { readCanaryWith, type WorldQuery } from '../read-canary.ts';
import { type CanaryDifference, canaryDifferenceOf, expectedRelease } from './canary-difference.ts';
import { readEffectiveSet, type SourceReading } from './effective-set.ts';
import { changesUnderWay } from './release-changes.ts';
import { type SourceDifference, sourceDifferenceOf } from './source-difference.ts';

/** Compares a Canary with the release that its primary must run. Throws ApiError, InputError and EngineError. */
export function readCanaryDifference(
  connection: Connection,
  query: WorldQuery,
): Promise<CanaryDifference & { readonly underWay: ReleaseChanges | undefined }> {
  return readCanaryWith(connection, query, async (context) => {
    const { world } = context.observation;
    const release = expectedRelease(world);
    if (!release)
      throw new Error(
        `Canary ${query.namespace}/${query.name}: no release has been promoted yet, so there is nothing to compare with`,
      );
    const objects = await expectedObjects(context, release.digest);
    return { ...canaryDifferenceOf(world, release, objects), underWay: await changesUnderWay(context) };
  });
}

/** Compares a Source with the cluster. Throws ApiError, InputError and Git's errors. */
export async function readSourceDifference(
  connection: Pick<Connection, 'client'>,
  source: Source,
  { listSources, ...reading }: SourceReading & { readonly listSources: ListSources },
): Promise<SourceDifference> {
  const set = await readEffectiveSet(connection, source, reading);
  return sourceDifferenceOf(connection.client, set, listSources);
}
