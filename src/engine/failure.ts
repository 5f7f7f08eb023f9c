/** Errors as the engine reports them: who must act, and whether trying again can help. */

import type { Condition } from '../api/kubernetes.ts';

/** What kind of failure an adapter's error is. Adapters give errors a `kind`; anything else is Unexpected. */
export interface Failure {
  /** CamelCase, fit for a condition's reason. */
  readonly reason: string;
  readonly message: string;
  /** A retry may succeed without anyone acting. */
  readonly transient: boolean;
  /** What the status line says, where nothing goes on before it is over. */
  readonly line?: string | undefined;
}

const reasons: Readonly<Record<string, { reason: string; transient: boolean }>> = {
  unauthorized: { reason: 'Unauthorized', transient: false },
  forbidden: { reason: 'Forbidden', transient: false },
  notFound: { reason: 'NotFound', transient: true },
  unknownKind: { reason: 'UnknownKind', transient: false },
  conflict: { reason: 'Conflict', transient: true },
  fieldConflict: { reason: 'FieldConflict', transient: false },
  alreadyExists: { reason: 'AlreadyExists', transient: true },
  invalid: { reason: 'Invalid', transient: false },
  configuration: { reason: 'Configuration', transient: false },
};

/** Sorts any thrown value. The message is the error's own; adapters keep secrets out of theirs (S31). */
export function failureOf(error: unknown): Failure {
  if (isFailure(error)) return error;
  const { refusal, kind, endsByItself } = (error ?? {}) as {
    refusal?: { reason?: unknown };
    kind?: unknown;
    endsByItself?: unknown;
  };
  // What a builder refused, only the author can end.
  if (typeof refusal?.reason === 'string' && error instanceof Error)
    return { reason: refusal.reason, message: error.message, transient: false };
  const message = error instanceof Error ? error.message : String(error);
  const known = typeof kind === 'string' ? reasons[kind] : undefined;
  if (known) return { ...known, message, transient: known.transient || endsByItself === true };
  return { reason: typeof kind === 'string' ? 'ApiUnavailable' : 'Unexpected', message, transient: true };
}

/** The engine's own, or one sorted before and handed on. */
function isFailure(error: unknown): error is Failure {
  const { reason, message, transient } = (error ?? {}) as Partial<Record<keyof Failure, unknown>>;
  return typeof reason === 'string' && typeof message === 'string' && typeof transient === 'boolean';
}

/** Several failures as one, with the reason of the first; undefined when there is none. */
export function joinFailures(failures: ReadonlyArray<Failure | undefined>): Failure | undefined {
  const found = failures.filter((failure) => failure !== undefined);
  const [first] = found;
  if (!first || found.length === 1) return first;
  const message = found.map((failure) => failure.message).join('; ');
  const line = found.find((failure) => failure.line !== undefined)?.line;
  return { reason: first.reason, message, transient: found.every(({ transient }) => transient), line };
}

/** What ends by itself does so within this time, such as an API server or a webhook that starts again. */
const lastingMs = 600_000;

/**
 * One for which nobody should wait any longer, as of a webhook that was removed and whose configuration was left, counts as one that a person must end.
 * Time is that of this process (S30); what another one has found lasting stays so.
 */
export function unlessLasting<Found extends Failure | undefined>(
  failure: Found,
  {
    sinceMs,
    nowMs,
    stalled,
  }: {
    readonly sinceMs: number | undefined;
    readonly nowMs: number;
    readonly stalled?: Pick<Condition, 'status' | 'reason'> | undefined;
  },
): Found | Failure {
  if (!failure?.transient) return failure;
  const isKnown = stalled?.status === 'True' && stalled.reason === failure.reason;
  const isLasting = isKnown || (sinceMs !== undefined && nowMs - sinceMs >= lastingMs);
  if (!isLasting) return failure;
  const { reason, message, line } = failure;
  return { reason, message, transient: false, line };
}

/** For what is not as it was sent, or would not be: what is waited for never comes, and only a person can change that. */
export function notKept(what: string, when = 'right after it was written'): EngineError {
  return new EngineError(
    'ForeignChange',
    `${what} ${when}: an admission webhook or policy changes it; exempt the object from that`,
  );
}

/** True when the API server refused a write because the object changed meanwhile: look again. */
export function isStale(error: unknown): boolean {
  const kind = (error as { kind?: unknown } | null)?.kind;
  return error instanceof StaleView || kind === 'conflict' || kind === 'alreadyExists' || kind === 'gone';
}

/**
 * Whether a write was refused for nothing but fields that cannot be changed in place. Adapters say so of their errors: one that is refused for more
 * than that would be refused again once the live object is deleted, and be gone.
 */
export function isImmutableChange(error: unknown): boolean {
  return (error as { isImmutable?: unknown } | null)?.isImmutable === true;
}

/** Whether a request was refused for want of a permission. Adapters say so of their errors: the words about a Secret are not shown. */
export function isMissingRight(error: unknown): boolean {
  return (error as { lacksRight?: unknown } | null)?.lacksRight === true;
}

/** A failure that the engine found itself. */
export class EngineError extends Error implements Failure {
  readonly reason: string;
  readonly transient: boolean;

  constructor(reason: string, message: string, transient = false) {
    super(message);
    this.name = 'EngineError';
    this.reason = reason;
    this.transient = transient;
  }
}

/** A failure that only the author of the Canary can end. */
export function invalidCanary(problems: ReadonlyArray<{ path: string; message: string }>): EngineError {
  const text = problems.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ');
  return new EngineError('InvalidSpec', text);
}

/** The same for a provider that this version does not know. */
export function unknownProvider(provider: string): EngineError {
  return new EngineError(
    'UnknownProvider',
    `spec.provider: this version cannot route traffic with ${provider}`,
  );
}

/** The world is not what the decision was made on (S19): observe and decide again. */
export class StaleView extends EngineError {
  constructor(what: string) {
    super('StaleView', `${what} changed since it was read`, true);
    this.name = 'StaleView';
  }
}

/** The code that errors of Git and of forges carry. */
export function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}
