/** The error of builders, for what they cannot work with. */

import { controllerOf, describe, type KubernetesObject } from '../../api/kubernetes.ts';

/** Why a Canary cannot be acted on: the named field of a workload, config or Service has to change. */
interface Refusal {
  /** CamelCase, for conditions. */
  reason: 'TargetInvalid' | 'OwnedByAnother' | 'NameTaken';
  /** `Kind namespace/name`. */
  object: string;
  /** Path of the field that has to change, as `spec.selector.matchLabels`. */
  field: string;
  /** What is wrong and what can be done. */
  message: string;
}

/** Thrown by builders; the Canary stops with this reason until its author changes something. */
export class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(`${refusal.object}: ${refusal.field}: ${refusal.message}`);
    this.name = 'RefusedError';
    this.refusal = refusal;
  }
}

/** Throws RefusedError TargetInvalid: this field of the object must change before the Canary can go on. */
export function refuseTarget(object: KubernetesObject, field: string, message: string): never {
  throw new RefusedError({ reason: 'TargetInvalid', object: describe(object), field, message });
}

/**
 * Throws RefusedError when another object controls the live one, before anything generated is written over it. An earlier Canary of the
 * same name counts as the same one: its owner reference is replaced.
 */
export function refuseForeign(live: KubernetesObject | undefined, canary: KubernetesObject): void {
  const owner = controllerOf(live);
  if (!live || !owner || owner.uid === canary.metadata.uid) return;
  if (owner.kind === canary.kind && owner.name === canary.metadata.name) return;
  throw new RefusedError({
    reason: 'OwnedByAnother',
    object: describe(live),
    field: 'metadata.ownerReferences',
    message: `belongs to ${owner.kind} ${owner.name}, not to ${describe(canary)}; rename one of the two, or delete the object`,
  });
}
