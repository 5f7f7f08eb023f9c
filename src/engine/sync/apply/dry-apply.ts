/** Applying one object by a dry run, by the rules of the loop: for commands that ask what a commit would do. */
import { type KubernetesObject, namespacedName, partOfLabel } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { applySetId } from '../../apply-set.ts';
import { withTimes } from '../scope/drift.ts';
import { applyOverOthers } from '../scope/field-conflicts.ts';
import { refuseNotAllowed } from '../scope/permissions.ts';
import { type Others, refuseOthers } from './other-owners.ts';
import { isImmutableChange, mayRecreate, notRecreated } from './recreate.ts';
import { inApplySet } from './wanted.ts';

/** Every Source of the cluster; undefined where whoever asks, or the controller, sees some of them only. */
export type ListSources = () => Promise<readonly Pick<KubernetesObject, 'metadata'>[] | undefined>;

/** What a dry run of one object gave. */
export interface DryApplied {
  /** The object as it would be sent, with the Source's label. */
  readonly wanted: KubernetesObject;
  /** As it would be stored: defaults, admission, and fields that are left to others are in it. */
  readonly written: KubernetesObject;
}

/**
 * Applies an object over a live one by the rules of the loop: what the Source may not write, what others apply, and the object's own word on
 * fields of others count. `cluster.apply` must be a dry run. `listSources` is called where another Source applied the object, which may be gone. Throws EngineErrors, and what the API server refuses.
 */
export async function dryApply(
  cluster: Pick<Cluster, 'apply'>,
  source: Source,
  {
    object,
    live,
    listSources,
  }: {
    readonly object: KubernetesObject;
    readonly live: KubernetesObject | undefined;
    readonly listSources?: ListSources | undefined;
  },
): Promise<DryApplied> {
  refuseNotAllowed(source, object);
  const wanted = inApplySet(source, object, live);
  if (live) refuseOthers(await othersOf(source, live, listSources), source, live, wanted);
  try {
    const { written } = await applyOverOthers(cluster, wanted, {
      over: undefined,
      timed: async (fields) => withTimes(fields, live),
    });
    return { wanted, written };
  } catch (error) {
    if (!live || !isImmutableChange(error)) throw error;
    if (!mayRecreate(source, wanted)) throw notRecreated(error);
    return { wanted, written: wanted };
  }
}

async function othersOf(
  source: Source,
  live: KubernetesObject,
  listSources: ListSources | undefined,
): Promise<Others> {
  const partOf = live.metadata.labels?.[partOfLabel];
  const all = partOf === undefined || partOf === applySetId(source) ? undefined : await listSources?.();
  const owner = all?.find((one) => applySetId(one) === partOf);
  const claims = { sourceOf: () => owner && namespacedName(owner) };
  return all ? { claims, sources: () => all, watchesEverywhere: true } : { claims };
}
