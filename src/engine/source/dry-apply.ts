/** What applying one object of a Source would lead to, asked of the API server without storing anything. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import type { Cluster } from '../ports/ports.ts';
import { refuseOthers } from './apply-object.ts';
import { applySetId, inApplySet } from './apply-set.ts';
import { createClaims } from './claims.ts';
import { refuseNotAllowed } from './confinement.ts';
import { applyOverOthers } from './contested-apply.ts';
import { withTimes } from './drift.ts';
import { formerOwnerOf } from './former-owner.ts';
import { isImmutableChange, mayRecreate, notRecreated } from './recreate.ts';

/** The outcome. */
export interface DryApplied {
  /** The object as it would be sent, with the Source's label. */
  readonly wanted: KubernetesObject;
  /** As it would be stored: defaults, admission, and fields that are left to others are in it. */
  readonly written: KubernetesObject;
}

/**
 * Applies an object over a live one by the rules of the loop: what the Source may not write, what others apply, and the object's own word on
 * fields of others count. `cluster.apply` must be a dry run. Throws EngineErrors, and what the API server refuses.
 */
export async function dryApply(
  cluster: Pick<Cluster, 'apply'>,
  source: Source,
  { object, live }: { object: KubernetesObject; live: KubernetesObject | undefined },
): Promise<DryApplied> {
  refuseNotAllowed(source, object);
  const id = applySetId(source);
  const wanted = inApplySet(object, id, live);
  if (live) refuseOthers({ claims: createClaims() }, live, { wanted, id, former: formerOwnerOf(source) });
  try {
    const timed = async (fields: Parameters<typeof withTimes>[0]) => withTimes(fields, live);
    const { written } = await applyOverOthers(cluster, wanted, { over: undefined, timed });
    return { wanted, written };
  } catch (error) {
    if (!live || !isImmutableChange(error, live)) throw error;
    if (!mayRecreate(source, wanted)) throw notRecreated(error);
    return { wanted, written: wanted };
  }
}
