import { stampAnnotations } from '../../../release/record.ts';
import type { Performers } from '../context/context.ts';
import { bytesOf, canaryName } from '../observe/releases.ts';
import { accountFor } from './write.ts';

/** What is remembered of releases: records of their bytes, and which were rejected. */
export const recordPerformers = {
  /** Keeps the bytes of a release in the cluster and reads them back (S10). */
  async SaveRecord(context, { digest, promotedTime }) {
    const { release } = await bytesOf(context, digest);
    // A proven one that is written anew keeps its place.
    const known = context.observation.world.records.find((record) => record.digest === digest);
    const sequence = promotedTime === undefined ? undefined : known?.sequence;
    const actAs = accountFor(context, digest);
    return context.parts.records.save(release, { promotedTime, sequence, actAs });
  },

  /** Stamps a record as proven. */
  async MarkProven(context, { digest, after }) {
    const { parts, observation } = context;
    const { release, settings } = await bytesOf(context, digest);
    await parts.records.save(release, { actAs: accountFor(context, digest) });
    const promotedTime = new Date(parts.clock.nowMs()).toISOString();
    const sequence = await parts.records.nextSequence(canaryName(observation.canary), digest, after);
    const annotations = stampAnnotations(release, { promotedTime, sequence, settings });
    return parts.records.stamp(canaryName(observation.canary), digest, annotations);
  },

  /** Deletes records whole. */
  async RemoveRecords({ parts, observation }, { names }) {
    let wrote = false;
    for (const name of names)
      wrote = (await parts.records.remove(canaryName(observation.canary), name)) || wrote;
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
