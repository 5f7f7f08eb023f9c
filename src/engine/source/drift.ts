/** What somebody else made of an object that Git holds, and who that was. */
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { differencesOf } from '../../workload/covers.ts';
import { type ManagedFieldsEntry, managedFieldsOf } from '../../workload/owned-fields.ts';
import { type Contested, contestedInWords } from './contested-apply.ts';

/** One object that was put back as Git says. */
export interface SourceDrift {
  readonly object: KubernetesObject;
  /** What was different, and who did it: for people, without any value. */
  readonly message: string;
}

/** What was found of an object that had been applied as it is in Git. `live`: read anew, with its managers; undefined: it was deleted. */
export function driftFound(
  wanted: KubernetesObject,
  live: KubernetesObject | undefined,
  taken: readonly Contested[],
): SourceDrift {
  const told = (what: string): SourceDrift => ({ object: wanted, message: `${describe(wanted)}: ${what}` });
  if (!live) return told('was deleted');
  if (taken.length > 0) return told(contestedInWords(taken));
  const fields = differencesOf(live, wanted).map(({ path }) => path);
  const writer = lastOtherWriter(live);
  const who = writer ? ` (${writer.manager}${writer.time ? ` at ${writer.time}` : ''})` : '';
  return told(`${fields.slice(0, 3).join(', ')}${who}`);
}

/** The contested fields with the time of the last write of each manager. */
export function withTimes(contested: readonly Contested[], live: KubernetesObject | undefined): Contested[] {
  const entries = live ? (managedFieldsOf(live) ?? []) : [];
  return contested.map((one) => {
    const own = entries.filter(({ manager, subresource }) => {
      return manager === one.manager && (subresource || undefined) === one.subresource;
    });
    const time = newest(own)?.time;
    return time ? { ...one, time } : one;
  });
}

function lastOtherWriter(live: KubernetesObject): ManagedFieldsEntry | undefined {
  const others = (managedFieldsOf(live) ?? []).filter(
    ({ manager, subresource }) => manager !== 'holdfast' && subresource !== 'status',
  );
  return newest(others);
}

function newest(entries: readonly ManagedFieldsEntry[]): ManagedFieldsEntry | undefined {
  return [...entries].sort((left, right) => ((left.time ?? '') < (right.time ?? '') ? 1 : -1))[0];
}
