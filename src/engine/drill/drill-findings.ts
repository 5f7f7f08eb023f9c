import { failureOf } from '../failure.ts';

/** Something that would stand in the way of a revert. */
export interface DrillFinding {
  /** `Kind namespace/name`. */
  readonly object: string;
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/** Something that the drill could not ask. */
export interface Unseen {
  readonly object: string;
  readonly why: string;
}

/** Outcomes that say nothing about the release. */
const noAnswer: ReadonlySet<unknown> = new Set([
  'unauthorized',
  'conflict',
  'tooManyRequests',
  'transient',
  'timeout',
  'badAnswer',
  'aborted',
  'configuration',
]);

/**
 * What a refused dry-run means. Missing rights of whoever drills, and webhooks that cannot be asked by dry-run, are no refusal of the
 * release. Throws the error again when the server did not answer at all.
 */
export function findingOf(
  object: string,
  error: unknown,
): { finding: DrillFinding; unseen?: never } | { finding?: never; unseen: Unseen } {
  const refusal = (error as { refusal?: { reason?: unknown } } | null)?.refusal;
  const kind = (error as { kind?: unknown } | null)?.kind;
  if (!(error instanceof Error) || noAnswer.has(kind)) throw error;
  const { message } = error;
  if (kind === 'forbidden' && /cannot (create|patch|get) resource/.test(message))
    return { unseen: { object, why: `no right to try it: ${message}` } };
  if (/does not support dry run/i.test(message))
    return { unseen: { object, why: `an admission webhook cannot be asked by dry-run: ${message}` } };
  const reason = typeof refusal?.reason === 'string' ? refusal.reason : failureOf(error).reason;
  return { finding: { object, reason, message } };
}
