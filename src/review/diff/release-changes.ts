import type { CanaryStatus } from '../../api/canary/status.ts';
import { canaryStatus, shortCommit } from '../../api/canary/summary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import type { ReadContext } from '../../engine/canary/context/observation.ts';
import { bytesOf } from '../../engine/canary/observe/releases.ts';
import { EngineError } from '../../engine/failure.ts';
import { createRecords } from '../../engine/records/records.ts';
import type { Release } from '../../release/release.ts';
import { lastKnownGood, runOf } from '../../rollout/world.ts';
import { createClusterPort } from '../../server/cluster.ts';
import type { ReleaseChanges } from '../../terminal/output.ts';
import { changesBetween } from './release-comparison.ts';

/**
 * `load` reads the bytes of a digest. A release that cannot be read, or is not kept before it has started, becomes a note. Throws ApiError where
 * the server does not answer.
 */
async function releaseChangesOf(
  load: (digest: string) => Promise<Release>,
  { from, to }: Pick<ReleaseChanges, 'from' | 'to'>,
  { phase }: CanaryStatus,
): Promise<ReleaseChanges> {
  try {
    const [before, after] = [await load(from.digest), await load(to.digest)];
    return { from, to, ...changesBetween(before, after, { from, to }) };
  } catch (error) {
    if (!(error instanceof EngineError) && !isApiError(error, 'forbidden')) throw error;
    const notYet = `${shortCommit(to.commit) || 'the release'} is kept in the cluster once it starts; until then holdfast plan shows in Git what it changes`;
    return { from, to, objects: [], notes: [phase === 'Waiting' ? notYet : error.message] };
  }
}

/** Those of a Canary as it was observed; undefined without a release under way, or without one that has proven itself before it. */
export async function changesUnderWay(context: ReadContext): Promise<ReleaseChanges | undefined> {
  const { world } = context.observation;
  const run = runOf(world.status);
  const good = lastKnownGood(world);
  if (!run || !good || run.digest === good.digest) return undefined;
  const { commit, subject } = good.commit;
  const from = { digest: good.digest, commit, subject };
  const to = { digest: run.digest, commit: run.commit, subject: run.subject };
  return releaseChangesOf(
    async (digest) => (await bytesOf(context, digest)).release,
    { from, to },
    world.status,
  );
}

/** Those of a Canary by its status, from the records in the cluster alone; undefined as above. */
export async function storedChanges(
  client: ClusterClient,
  canary: KubernetesObject,
): Promise<ReleaseChanges | undefined> {
  const status = canaryStatus(canary);
  const { run, lastKnownGood: good } = status;
  if (!run?.digest || !good?.digest || run.digest === good.digest) return undefined;
  const { name, namespace = '' } = canary.metadata;
  const records = createRecords(createClusterPort(client), undefined);
  const load = async (digest: string) => (await records.load({ namespace, name }, digest)).release;
  const from = { digest: good.digest, commit: good.commit, subject: '' };
  const to = { digest: run.digest, commit: run.commit ?? '', subject: '' };
  return releaseChangesOf(load, { from, to }, status);
}
