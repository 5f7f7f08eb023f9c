import { gitPart } from '../../../api/digest.ts';
import { limits } from '../../../api/limits.ts';
import { stampAnnotations } from '../../../release/record.ts';
import { lastKnownGood, type RecordView, type World } from '../../../rollout/world.ts';
import type { ActionContext, Performers } from '../context/context.ts';
import { bytesOf, canaryName } from '../observe/releases.ts';
import { accountFor } from './write.ts';

/** What is remembered of releases: records of their bytes, and which were rejected. */
export const recordPerformers = {
  /** Keeps the bytes of a release in the cluster and reads them back (S10); records that nobody can need any more are deleted. */
  async SaveRecord(context, { digest, promotedTime }) {
    const { release } = await bytesOf(context, digest);
    // A proven one that is written anew keeps its place.
    const known = context.observation.world.records.find((record) => record.digest === digest);
    const sequence = promotedTime === undefined ? undefined : known?.sequence;
    const actAs = accountFor(context, digest);
    const wrote = await context.parts.records.save(release, { promotedTime, sequence, actAs });
    if (wrote) await removeSurplus(context, digest);
    return wrote;
  },

  /** Stamps a record as proven, then deletes those beyond the limit, never the one just stamped. */
  async MarkProven(context, { digest, after }) {
    const { parts, observation } = context;
    const { release, settings } = await bytesOf(context, digest);
    await parts.records.save(release, { actAs: accountFor(context, digest) });
    const promotedTime = new Date(parts.clock.nowMs()).toISOString();
    const sequence = await parts.records.nextSequence(canaryName(observation.canary), digest, after);
    const annotations = stampAnnotations(release, { promotedTime, sequence, settings });
    const wrote = await parts.records.stamp(canaryName(observation.canary), digest, annotations);
    await removeSurplus(context, digest);
    return wrote;
  },

  /** Remembers that a digest failed (S14). */
  Reject({ parts, observation }, { digest, commit, reason, cause }) {
    const time = new Date(parts.clock.nowMs()).toISOString();
    const rejection = { digest, commit, reason, cause, time };
    return parts.records.reject(canaryName(observation.canary), digest, rejection);
  },

  /** Forgets that a digest failed, for instance after a retry was asked for. */
  Unreject: ({ parts, observation }, { digest }) =>
    parts.records.reject(canaryName(observation.canary), digest, undefined),
} satisfies Partial<Performers>;

/** Proven releases beyond the newest few, and unproven ones that neither Git, the primary nor this run is about. */
async function removeSurplus({ parts, observation }: ActionContext, digest: string): Promise<void> {
  const { world } = observation;
  const head = world.head.kind === 'release' ? world.head.release.digest : undefined;
  const needed = new Set([
    digest,
    head,
    world.primary?.digest,
    world.target?.digest,
    world.status.run?.digest,
    lastKnownGood(world)?.digest,
  ]);
  const retained = new Set(newestByGitDigest(world, needed).slice(0, limits.keptRecords - 1));
  const surplus = world.records.filter((record) => !needed.has(record.digest) && !retained.has(record));
  for (const { name } of surplus) await parts.records.remove(canaryName(observation.canary), name);
}

/** Of releases that differ only by config outside Git, the newest that a revert may use: rotated Secrets must not displace older commits. */
function newestByGitDigest(
  { records, rejected }: World,
  needed: ReadonlySet<string | undefined>,
): RecordView[] {
  const isRejected = new Set(rejected.map(({ digest }) => digest));
  const seen = new Set<string>();
  return records.filter(({ digest, promotedTime }) => {
    if (needed.has(digest) || promotedTime === undefined) return false;
    const isSuperseded = seen.has(gitPart(digest));
    if (!isRejected.has(digest)) seen.add(gitPart(digest));
    return !isSuperseded;
  });
}
