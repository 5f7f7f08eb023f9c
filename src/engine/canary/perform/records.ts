import { hasOwnLabels, nameOf, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import { stampAnnotations } from '../../../release/record.ts';
import { configKey, configKeysIn } from '../../../workload/shared/configs.ts';
import { digestAnnotation } from '../../../workload/shared/metadata.ts';
import type { ActionContext, Performers } from '../context/context.ts';
import { bytesOf } from '../observe/releases.ts';
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
    const sequence = await parts.records.nextSequence(nameOf(observation.canary), digest, after);
    const annotations = stampAnnotations(release, { promotedTime, sequence, settings });
    return parts.records.stamp(nameOf(observation.canary), digest, annotations);
  },

  /** Deletes records whole, and what was copied for their releases alone. */
  async RemoveRecords(context, { names }) {
    const { parts, observation } = context;
    let wrote = false;
    for (const name of names) {
      const digest = observation.world.records.find((record) => record.name === name)?.digest;
      if (digest !== undefined) await removeCopiesOf(context, digest);
      wrote = (await parts.records.remove(nameOf(observation.canary), name)) || wrote;
    }
    return wrote;
  },

  /** Remembers that a digest failed (S14). */
  Reject({ parts, observation }, { digest, commit, reason, cause }) {
    const time = new Date(parts.clock.nowMs()).toISOString();
    const rejection = { digest, commit, reason, cause, time };
    return parts.records.reject(nameOf(observation.canary), digest, rejection);
  },

  /** Forgets that a digest failed, for instance after a retry was asked for. */
  Unreject: ({ parts, observation }, { digest }) =>
    parts.records.reject(nameOf(observation.canary), digest, undefined),
} satisfies Partial<Performers>;

/** A copy names the release that it was written for last; names with a hash in them, as of kustomize, leave one behind with each release. */
async function removeCopiesOf({ parts, observation }: ActionContext, digest: string): Promise<void> {
  const { canary, primary, view } = observation;
  const named = primary ? configKeysIn(primary) : new Set();
  const left = view
    .configCopies()
    .filter((copy) => hasOwnLabels(copy, canary))
    .filter(({ metadata }) => metadata.annotations?.[digestAnnotation] === digest)
    .filter(({ kind, metadata }) => !named.has(configKey(kind, metadata.name)));
  for (const copy of left) await parts.cluster.delete(referenceOf(copy), versionOf(copy));
}
