import { limits } from '../api/limits.ts';
import { stampAnnotations } from '../release/record.ts';
import type { ActionContext, Performer } from './action-context.ts';
import { bytesOf, nameOf } from './releases.ts';

/** Keeps the bytes of a release in the cluster and reads them back (S10); records that nobody can need any more go. */
export const saveRecord: Performer<'SaveRecord'> = async (context, { digest, promotedTime }) => {
  const { release } = await bytesOf(context, digest);
  const wrote = await context.parts.records.save(release, { promotedTime });
  if (wrote) await removeSurplus(context, digest);
  return wrote;
};

/** Stamps a record as proven, then deletes those beyond the limit, never the one just stamped. */
export const markProven: Performer<'MarkProven'> = async (context, { digest }) => {
  const { parts, observation } = context;
  const { release, settings } = await bytesOf(context, digest);
  await parts.records.save(release);
  const promotedTime = new Date(parts.clock.nowMs()).toISOString();
  const annotations = stampAnnotations(release, { promotedTime, settings });
  const wrote = await parts.records.stamp(nameOf(observation), digest, annotations);
  await removeSurplus(context, digest);
  return wrote;
};

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
  ]);
  const others = world.records.filter((record) => !needed.has(record.digest));
  const proven = others.filter(({ promotedTime }) => promotedTime !== undefined);
  const unproven = others.filter(({ promotedTime }) => promotedTime === undefined);
  const surplus = [...unproven, ...proven.slice(limits.keptRecords - 1)];
  for (const { name } of surplus) await parts.records.remove(nameOf(observation), name);
}

/** Remembers that a digest failed (S14). */
export const reject: Performer<'Reject'> = ({ parts, observation }, { digest, commit, reason }) => {
  const time = new Date(parts.clock.nowMs()).toISOString();
  return parts.records.reject(nameOf(observation), digest, { digest, commit, reason, time });
};

/** Forgets that a digest failed, for instance after a retry was asked for. */
export const unreject: Performer<'Unreject'> = ({ parts, observation }, { digest }) =>
  parts.records.reject(nameOf(observation), digest, undefined);
