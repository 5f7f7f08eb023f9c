/** Whose object is this? Checked before anything generated is written over it. */
import type { Canary } from '../api/canary.ts';
import { describe, type KubernetesObject } from '../api/kubernetes.ts';
import { RefusedError } from './refusal.ts';

/**
 * Throws RefusedError when the live object is controlled by somebody else. An earlier Canary of the same name counts as the same one:
 * its reference is replaced by ours.
 */
export function refuseForeign(live: KubernetesObject | undefined, canary: Canary): void {
  const owner = live?.metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (!live || !owner || owner.uid === canary.metadata.uid) return;
  if (owner.kind === canary.kind && owner.name === canary.metadata.name) return;
  throw new RefusedError({
    reason: 'OwnedByAnother',
    object: describe(live),
    field: 'metadata.ownerReferences',
    message: `belongs to ${owner.kind} ${owner.name}, not to ${describe(canary)}; rename one of the two, or delete the object`,
  });
}
