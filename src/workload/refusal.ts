/** A workload, config or Service that cannot be handled as it is; somebody has to change the named field. */

/** One reason why a Canary cannot be acted on. */
export interface Refusal {
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
