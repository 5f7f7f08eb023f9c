import { limits } from '../api/limits.ts';
import { stampAnnotations } from '../release/record.ts';
import type { Performer } from './action-context.ts';
import { bytesOf, nameOf } from './releases.ts';

/** Keeps the bytes of a release in the cluster and reads them back (S10). */
export const saveRecord: Performer<'SaveRecord'> = async (context, { digest }) => {
  const { release } = await bytesOf(context, digest);
  return context.parts.records.save(release);
};

/** Stamps a record as proven, then deletes those beyond the limit, never the one just stamped. */
export const markProven: Performer<'MarkProven'> = async (context, { digest }) => {
  const { parts, observation } = context;
  const { release, settings } = await bytesOf(context, digest);
  await parts.records.save(release);
  const promotedTime = new Date(parts.clock.nowMs()).toISOString();
  const annotations = stampAnnotations(release, { promotedTime, settings });
  const wrote = await parts.records.stamp(nameOf(observation), digest, annotations);
  const others = observation.world.records.filter((record) => record.digest !== digest);
  const surplus = others.slice(limits.keptRecords - 1);
  for (const record of surplus) await parts.records.remove(nameOf(observation), record.name);
  return wrote || surplus.length > 0;
};

/** Remembers that a digest failed (S14). */
export const reject: Performer<'Reject'> = ({ parts, observation }, { digest, commit, reason }) => {
  const time = new Date(parts.clock.nowMs()).toISOString();
  return parts.records.reject(nameOf(observation), digest, { digest, commit, reason, time });
};

/** Forgets that a digest failed, for instance after a retry was asked for. */
export const unreject: Performer<'Unreject'> = ({ parts, observation }, { digest }) =>
  parts.records.reject(nameOf(observation), digest, undefined);
